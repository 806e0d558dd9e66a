/** One call under way at a server that may ask questions, through as many rounds as it takes. */
import type { Call, InputAnswers, OpenRequests } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { questionKind } from "../../core/methods.js";
import type { Envelope, Request, RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { type IdKey, idKey } from "../../wire/message-id.js";
import { CODE, META } from "../../wire/names.js";
import { OpenCall } from "../conversation/open-calls.js";
import { MAY_ASK, type Presentation, present, withoutHop } from "../conversation/questions.js";
import { forget, type SentRequest } from "../conversation/sent-request.js";

/** What a call comes to next: its end, or questions that the client must answer first. */
export type Turn = { readonly kind: "ended"; readonly message: Envelope } | { readonly kind: "asked" };

export interface RunningCallSettings {
  /** Sends the server the response to a question of its own; never rejects. */
  readonly respond: (response: Envelope) => void;
  /** Tells the server that nobody waits any more, and stops waiting. */
  readonly cancel: (why: string) => void;
  /** Whether the call goes on behind the response to its request, as the gateway waits for the task that this began. */
  readonly awaitsTask: boolean;
}

interface Question {
  readonly request: Request;
  readonly kind: string;
}

type Ending = { readonly message: Envelope } | { readonly error: unknown };

/** The task that a message of the server says it belongs to (2025-11-25: basic/utilities/tasks, "Related Task Metadata"). */
export const relatedTask = (params: JsonObject | undefined): string | undefined =>
  stringAt(objectAt(objectAt(params, "_meta"), META.relatedTask), "taskId");

/** Of a call that is asked nothing, as most are: it makes no Map of its own. */
const NO_QUESTIONS = new Map<string, Question>();

/** Questions that come this close together (ms) are asked together. */
const SETTLE_MS = 20;
/** So many may be open in one call. */
const MAX_QUESTIONS = 32;

export class RunningCall extends OpenCall {
  readonly method: string;
  readonly #settings: RunningCallSettings;
  /** What waits for an answer, by the keys that the client sees. */
  #questions = NO_QUESTIONS;
  /** Who wants to know of questions that nobody need answer any more. */
  #watchers: Set<(key: string) => void> | undefined;
  readonly #asksAfter: string | undefined;
  #sent: SentRequest[] | undefined;
  #awaited: string | undefined;
  #lastKey = 0;
  #ending: Ending | undefined;
  #answered = false;
  #settled = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake: (() => void) | undefined;

  constructor(id: number, call: Call, settings: RunningCallSettings) {
    super(id, call);
    this.method = call.method;
    this.#asksAfter = call.method === "tasks/result" ? stringAt(call.params, "taskId") : undefined;
    this.#settings = settings;
  }

  /** Whether the client may be asked something on account of this call. */
  get mayAsk(): boolean {
    return MAY_ASK.has(this.method) && this.#ending === undefined && !this.#answered;
  }

  /** The response has come: what comes behind it is no affair of this call, although `end` is still to be called. */
  answered(): void {
    this.#answered = !this.#settings.awaitsTask;
  }

  /** The task, by the server's own id, whose result it waits for. */
  get task(): string | undefined {
    return this.#awaited ?? this.#asksAfter;
  }

  /** The task that it waits for on behalf of a client that knows nothing of it. */
  get awaited(): string | undefined {
    return this.#awaited;
  }

  awaits(task: string): void {
    this.#awaited = task;
  }

  /** `request` is sent on account of this call. */
  sends(request: SentRequest): void {
    if (this.#sent === undefined) this.#sent = [request];
    else this.#sent.push(request);
  }

  /** The call may wait for long, and its server has what it was asked: nobody who waits for the answer need keep it. */
  forgetRequests(): void {
    for (const request of this.#sent ?? []) forget(request);
    this.#sent = undefined;
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Takes a question of the server; false when there are too many already. */
  ask(request: Request): boolean {
    if (this.#questions.size >= MAX_QUESTIONS) return false;
    this.#lastKey += 1;
    const kind = questionKind(request) ?? "question";
    if (this.#questions === NO_QUESTIONS) this.#questions = new Map();
    this.#questions.set(`${kind}_${this.#lastKey}`, { request, kind });
    this.#settle(SETTLE_MS);
    return true;
  }

  /** The server takes its question back; false when it was none of this call's. */
  withdraw(id: IdKey): boolean {
    for (const [key, { request }] of this.#questions) {
      if (idKey(request.id) !== id) continue;
      this.#drop(key);
      return true;
    }
    return false;
  }

  /** The capabilities that a client needs to answer what waits. */
  get askedUnder(): readonly string[] {
    return [...new Set([...this.#questions.values()].map(({ kind }) => kind))];
  }

  /** What waits for an answer at this moment, as long as it does. */
  openRequests(): OpenRequests {
    const keys = [...this.#questions.keys()];
    return {
      watch: (gone) => {
        const hear = (key: string): void => {
          if (keys.includes(key)) gone(key);
        };
        this.#watchers ??= new Set();
        this.#watchers.add(hear);
        for (const key of keys) if (!this.#questions.has(key)) gone(key);
        return () => this.#watchers?.delete(hear);
      },
    };
  }

  /** The exchange is over. A server that still waits for answers in it is told that none will come. */
  end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.refuse("the call it was asked in has ended");
    clearTimeout(this.#timer);
    this.#wake?.();
  }

  /**
   * What the call has come to; undefined while it goes on.
   *
   * @throws what the exchange failed with.
   */
  turn(): Turn | undefined {
    if (this.#ending !== undefined) {
      if ("error" in this.#ending) throw this.#ending.error;
      return { kind: "ended", message: this.#ending.message };
    }
    return this.#settled && this.#questions.size > 0 ? { kind: "asked" } : undefined;
  }

  /** Resolves when there may be another `turn`. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** What waits for an answer, as the client of this round may see it. */
  questions(presentation: Presentation, session: boolean): JsonObject {
    // A task that is only awaited here is none of the client's.
    const hasTasks = session && this.#awaited === undefined;
    return Object.fromEntries(
      [...this.#questions].map(([key, { request }]) => {
        const params = request.params === undefined ? undefined : withoutHop(request.params, hasTasks);
        // The id lets a session hear of the end of what it was sent to; nobody else has any use for it.
        const shown = params === undefined || session ? params : without(params, ["elicitationId"]);
        const question = { method: request.method, ...(shown !== undefined && { params: shown }) };
        return [key, present(question, presentation)];
      }),
    );
  }

  /** Hands the server what the client answered. What is still open then is asked again. */
  deliver({ responses, refusals = {} }: InputAnswers): void {
    for (const [key, { request }] of [...this.#questions]) {
      const refusal = Object.hasOwn(refusals, key) ? refusals[key] : undefined;
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      if (refusal !== undefined) this.#respond(key, request, { error: refusal });
      else if (isObject(response)) this.#respond(key, request, { result: response });
    }
    this.#settled = false;
    if (this.#questions.size > 0) this.#settle(SETTLE_MS);
  }

  /** Nobody will answer: a person has made no choice, and a model said nothing. */
  refuse(why: string): void {
    this.#settled = false;
    if (this.#questions.size === 0) return;
    for (const [key, { request, kind }] of [...this.#questions]) {
      const error: RpcError = { code: CODE.internalError, message: why };
      this.#respond(key, request, kind === "elicitation" ? { result: { action: "cancel" } } : { error });
      this.#tell(key);
    }
  }

  /** Nobody waits for the call any more. */
  cancel(why: string): void {
    if (this.#ending !== undefined) return;
    this.#settings.cancel(why);
    this.refuse(why);
    this.end({ error: new GatewayError("cancelled", "downstream", why) });
  }

  #drop(key: string): void {
    this.#questions.delete(key);
    this.#tell(key);
  }

  #tell(key: string): void {
    for (const hear of [...(this.#watchers ?? [])]) hear(key);
  }

  #respond(key: string, request: Request, content: { result: JsonObject } | { error: RpcError }): void {
    this.#questions.delete(key);
    this.#settings.respond({ jsonrpc: "2.0", id: request.id, ...content });
  }

  #settle(ms: number): void {
    this.#settled = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#settled = true;
      this.#wake?.();
    }, ms);
  }
}
