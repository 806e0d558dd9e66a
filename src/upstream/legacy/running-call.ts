/** One call under way at a server that may ask questions, through as many rounds as it takes. */
import type { Call, InputResponses, OpenRequests } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { questionKind } from "../../core/methods.js";
import type { Envelope, Request, RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { type IdKey, idKey } from "../../wire/message-id.js";
import { CODE, META } from "../../wire/names.js";
import { OpenCall } from "../protocol/open-calls.js";
import {
  INTERACTIVE_METHODS,
  type Presentation,
  presentQuestion,
  withoutHopMetadata,
} from "../protocol/questions.js";
import { releaseParams, type SentRequest } from "../protocol/sent-request.js";

/** What a call comes to next: its end, or questions that the client must answer first. */
export type CallStep = { readonly kind: "ended"; readonly message: Envelope } | { readonly kind: "asked" };

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

type CallOutcome = { readonly message: Envelope } | { readonly error: unknown };

/** The task that a message of the server says it belongs to (2025-11-25: basic/utilities/tasks, "Related Task Metadata"). */
export const relatedTask = (params: JsonObject | undefined): string | undefined =>
  stringAt(objectAt(objectAt(params, "_meta"), META.relatedTask), "taskId");

/** Of a call that is asked nothing, as most are: it makes no Map of its own. */
const NO_QUESTIONS = new Map<string, Question>();

/** Questions that come this close together (ms) are asked together. */
const BATCH_MS = 20;
/** So many may be open in one call. */
const MAX_QUESTIONS = 32;

export class RunningCall extends OpenCall {
  readonly method: string;
  readonly #settings: RunningCallSettings;
  /** What waits for an answer, by the keys that the client sees. */
  #questions = NO_QUESTIONS;
  /** Who wants to know of questions that nobody need answer any more. */
  #cancelWatchers: Set<(key: string) => void> | undefined;
  readonly #polledTask: string | undefined;
  #sent: SentRequest[] | undefined;
  #awaitedTask: string | undefined;
  #lastKey = 0;
  #outcome: CallOutcome | undefined;
  #hasResponse = false;
  #batchReady = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake: (() => void) | undefined;

  constructor(id: number, call: Call, settings: RunningCallSettings) {
    super(id, call);
    this.method = call.method;
    this.#polledTask = call.method === "tasks/result" ? stringAt(call.params, "taskId") : undefined;
    this.#settings = settings;
  }

  /** Whether the client may be asked something on account of this call. */
  get allowsQuestions(): boolean {
    return INTERACTIVE_METHODS.has(this.method) && this.#outcome === undefined && !this.#hasResponse;
  }

  /** The response has come: what comes behind it is no affair of this call, although `end` is still to be called. */
  onResponse(): void {
    this.#hasResponse = !this.#settings.awaitsTask;
  }

  /** The task, by the server's own id, whose result it waits for. */
  get task(): string | undefined {
    return this.#awaitedTask ?? this.#polledTask;
  }

  /** The task that it waits for on behalf of a client that knows nothing of it. */
  get awaitedTask(): string | undefined {
    return this.#awaitedTask;
  }

  setAwaitedTask(task: string): void {
    this.#awaitedTask = task;
  }

  /** `request` is sent on account of this call. */
  recordSent(request: SentRequest): void {
    if (this.#sent === undefined) this.#sent = [request];
    else this.#sent.push(request);
  }

  /** The call may wait for long, and its server has what it was asked: nobody who waits for the answer need keep it. */
  releaseRequests(): void {
    for (const request of this.#sent ?? []) releaseParams(request);
    this.#sent = undefined;
  }

  get hasEnded(): boolean {
    return this.#outcome !== undefined;
  }

  /** Takes a question of the server; false when there are too many already. */
  addQuestion(request: Request): boolean {
    if (this.#questions.size >= MAX_QUESTIONS) return false;
    this.#lastKey += 1;
    const kind = questionKind(request) ?? "question";
    if (this.#questions === NO_QUESTIONS) this.#questions = new Map();
    this.#questions.set(`${kind}_${this.#lastKey}`, { request, kind });
    this.#startBatch(BATCH_MS);
    return true;
  }

  /** The server takes its question back; false when it was none of this call's. */
  cancelQuestion(id: IdKey): boolean {
    for (const [key, { request }] of this.#questions) {
      if (idKey(request.id) !== id) continue;
      this.#removeQuestion(key);
      return true;
    }
    return false;
  }

  /** The capabilities that a client needs to answer what waits. */
  get questionCapabilities(): readonly string[] {
    return [...new Set([...this.#questions.values()].map(({ kind }) => kind))];
  }

  /** What waits for an answer at this moment, as long as it does. */
  openRequests(): OpenRequests {
    const keys = [...this.#questions.keys()];
    return {
      watch: (gone) => {
        const listener = (key: string): void => {
          if (keys.includes(key)) gone(key);
        };
        this.#cancelWatchers ??= new Set();
        this.#cancelWatchers.add(listener);
        for (const key of keys) if (!this.#questions.has(key)) gone(key);
        return () => this.#cancelWatchers?.delete(listener);
      },
    };
  }

  /** The exchange is over. A server that still waits for answers in it is told that none will come. */
  end(ending: CallOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = ending;
    this.refuseQuestions("the call it was asked in has ended");
    clearTimeout(this.#timer);
    this.#wake?.();
  }

  /**
   * What the call has come to; undefined while it goes on.
   *
   * @throws what the exchange failed with.
   */
  turn(): CallStep | undefined {
    if (this.#outcome !== undefined) {
      if ("error" in this.#outcome) throw this.#outcome.error;
      return { kind: "ended", message: this.#outcome.message };
    }
    return this.#batchReady && this.#questions.size > 0 ? { kind: "asked" } : undefined;
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
    const hasTasks = session && this.#awaitedTask === undefined;
    return Object.fromEntries(
      [...this.#questions].map(([key, { request }]) => {
        const params =
          request.params === undefined ? undefined : withoutHopMetadata(request.params, hasTasks);
        // The id lets a session hear of the end of what it was sent to; nobody else has any use for it.
        const shown = params === undefined || session ? params : without(params, ["elicitationId"]);
        const question = { method: request.method, ...(shown !== undefined && { params: shown }) };
        return [key, presentQuestion(question, presentation)];
      }),
    );
  }

  /** Hands the server what the client answered. What is still open then is asked again. */
  deliverAnswers({ responses, refusals = {} }: InputResponses): void {
    for (const [key, { request }] of [...this.#questions]) {
      const refusal = Object.hasOwn(refusals, key) ? refusals[key] : undefined;
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      if (refusal !== undefined) this.#respond(key, request, { error: refusal });
      else if (isObject(response)) this.#respond(key, request, { result: response });
    }
    this.#batchReady = false;
    if (this.#questions.size > 0) this.#startBatch(BATCH_MS);
  }

  /** Nobody will answer: a person has made no choice, and a model said nothing. */
  refuseQuestions(why: string): void {
    this.#batchReady = false;
    if (this.#questions.size === 0) return;
    for (const [key, { request, kind }] of [...this.#questions]) {
      const error: RpcError = { code: CODE.internalError, message: why };
      this.#respond(key, request, kind === "elicitation" ? { result: { action: "cancel" } } : { error });
      this.#notifyWatchers(key);
    }
  }

  /** Nobody waits for the call any more. */
  cancel(why: string): void {
    if (this.#outcome !== undefined) return;
    this.#settings.cancel(why);
    this.refuseQuestions(why);
    this.end({ error: new GatewayError("cancelled", "downstream", why) });
  }

  #removeQuestion(key: string): void {
    this.#questions.delete(key);
    this.#notifyWatchers(key);
  }

  #notifyWatchers(key: string): void {
    for (const listener of [...(this.#cancelWatchers ?? [])]) listener(key);
  }

  #respond(key: string, request: Request, content: { result: JsonObject } | { error: RpcError }): void {
    this.#questions.delete(key);
    this.#settings.respond({ jsonrpc: "2.0", id: request.id, ...content });
  }

  #startBatch(ms: number): void {
    this.#batchReady = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#batchReady = true;
      this.#wake?.();
    }, ms);
  }
}
