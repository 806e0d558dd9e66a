/** Where does a running call stand: running, asking questions, or ended? */
import type { Call, InputResponses, OpenRequests } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { INTERACTIVE_METHODS, questionKind } from "../../core/methods.js";
import { type Envelope, type IdKey, idKey, type Request, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { CODE, META } from "../../wire/names.js";
import { OpenCall, releaseParams, type SentRequest } from "../protocol/open-calls.js";
import { type Presentation, presentQuestion, withoutHopMetadata } from "../protocol/questions.js";
import type { QuestionPace } from "./question-pace.js";
import type { RememberedHost } from "./remembered-host.js";

/** The next step of a call: its end, or questions that the client must answer first. */
export type CallStep = { readonly kind: "ended"; readonly message: Envelope } | { readonly kind: "asked" };

/** How a running call acts on its connection. */
export interface RunningCallSettings {
  /** Sends the server the response to a question of its own; never rejects. */
  readonly respond: (response: Envelope) => void;
  /** Cancels the request at the server, and stops waiting for its response. */
  readonly cancel: (why: string) => void;
  /** What the server remembers of hosts; absent where the connection is for one session, or its hosts are not asked. */
  readonly remembered: RememberedHost | undefined;
  /** How the server asks. */
  readonly pace: QuestionPace;
  /** Whether no call of another host runs beside this one. */
  readonly isAlone: (call: RunningCall) => boolean;
  /** Whether the call continues after the response to its request, as the gateway awaits the task that this created. */
  readonly awaitsTask: boolean;
}

interface Question {
  readonly request: Request;
  readonly kind: string;
  /** Called when the call ends with a response although the question is open. */
  readonly onOvertaken: (() => void) | undefined;
}

type CallOutcome = { readonly message: Envelope } | { readonly error: unknown };

/** The id of the task that a message of the server is related to (2025-11-25: basic/utilities/tasks, "Related Task Metadata"). */
export const relatedTask = (params: JsonObject | undefined): string | undefined =>
  stringAt(objectAt(objectAt(params, "_meta"), META.relatedTask), "taskId");

/** Shared by all calls without questions, which are most: they allocate no Map. */
const NO_QUESTIONS = new Map<string, Question>();

/** The maximum number of open questions in one call. */
const MAX_QUESTIONS = 32;

/** One call at a server that may ask questions, over any number of rounds. */
export class RunningCall extends OpenCall {
  readonly method: string;
  /** The program that calls, as it introduced itself. */
  readonly host: Client["info"];
  /** The name of the tool or prompt; undefined for a resource. */
  readonly target: unknown;
  readonly #settings: RunningCallSettings;
  /** The open questions, by the keys that the client sees. */
  #questions = NO_QUESTIONS;
  /** Called with the key of each question that the server has cancelled. */
  #cancelWatchers: Set<(key: string) => void> | undefined;
  readonly #polledTask: string | undefined;
  #sent: SentRequest[] | undefined;
  #awaitedTask: string | undefined;
  #lastKey = 0;
  #outcome: CallOutcome | undefined;
  #hasResponse = false;
  #batchReady = false;
  /** Stops the wait for further questions. */
  #stopWaiting: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(id: number, call: Call, settings: RunningCallSettings) {
    super(id, call);
    this.method = call.method;
    this.host = call.client.info;
    this.target = call.params.name;
    this.#polledTask = call.method === "tasks/result" ? stringAt(call.params, "taskId") : undefined;
    this.#settings = settings;
  }

  /** Whether the server may ask questions as part of this call. */
  get allowsQuestions(): boolean {
    return INTERACTIVE_METHODS.has(this.method) && this.#outcome === undefined && !this.#hasResponse;
  }

  /** The response has come: later questions do not belong to this call, although `end` has not been called yet. */
  onResponse(): void {
    this.#hasResponse = !this.#settings.awaitsTask;
  }

  /** The server's id of the task whose result the call awaits. */
  get task(): string | undefined {
    return this.#awaitedTask ?? this.#polledTask;
  }

  /** The task that the gateway awaits for a client without tasks. */
  get awaitedTask(): string | undefined {
    return this.#awaitedTask;
  }

  setAwaitedTask(task: string): void {
    this.#awaitedTask = task;
  }

  /** Whether the call creates a task, or is about one, on a connection that is not exclusively its own. */
  get isOfTask(): boolean {
    if (this.#polledTask !== undefined) return true;
    return this.call !== undefined && Object.hasOwn(this.call.params, "task");
  }

  /** Records a request that is sent as part of this call. */
  recordSent(request: SentRequest): void {
    if (this.#sent === undefined) this.#sent = [request];
    else this.#sent.push(request);
  }

  /** Drops the parameters of the sent requests, as the call may be parked for minutes. */
  releaseRequests(): void {
    for (const request of this.#sent ?? []) releaseParams(request);
    this.#sent = undefined;
  }

  get hasEnded(): boolean {
    return this.#outcome !== undefined;
  }

  /**
   * Adds a question of the server; false when the limit is reached. `onOvertaken`: called when the server responds to the call
   * although the question is open.
   */
  addQuestion(request: Request, onOvertaken?: () => void): boolean {
    if (this.#questions.size >= MAX_QUESTIONS) return false;
    if (this.#questions.size > 0) this.#settings.pace.askedTogether();
    this.#lastKey += 1;
    const kind = questionKind(request) ?? "question";
    if (this.#questions === NO_QUESTIONS) this.#questions = new Map();
    this.#questions.set(`${kind}_${this.#lastKey}`, { request, kind, onOvertaken });
    this.#startBatch();
    return true;
  }

  /** The server cancels its question; false when it does not belong to this call. */
  cancelQuestion(id: IdKey): boolean {
    for (const [key, { request }] of this.#questions) {
      if (idKey(request.id) !== id) continue;
      this.#removeQuestion(key);
      return true;
    }
    return false;
  }

  /** The capabilities that a client needs to answer the open questions. */
  get questionCapabilities(): readonly string[] {
    return [...new Set([...this.#questions.values()].map(({ kind }) => kind))];
  }

  /** The questions that are open now; `watch` reports each that the server cancels later. */
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

  /** The exchange has ended; questions that are still open are refused. */
  end(ending: CallOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = ending;
    this.#settings.remembered?.ended(this);
    if ("message" in ending) for (const { onOvertaken } of this.#questions.values()) onOvertaken?.();
    this.refuseQuestions("its call has ended");
    this.#stopWaiting?.();
    this.#wake?.();
  }

  /**
   * The next step; undefined while the call is running.
   *
   * @throws what the exchange rejected with.
   */
  nextStep(): CallStep | undefined {
    if (this.#outcome !== undefined) {
      if ("error" in this.#outcome) throw this.#outcome.error;
      return { kind: "ended", message: this.#outcome.message };
    }
    return this.#batchReady && this.#questions.size > 0 ? { kind: "asked" } : undefined;
  }

  /** Resolves when there may be a next step. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** The open questions, as the client of this round may see them. */
  questions(presentation: Presentation, session: boolean): JsonObject {
    // The client does not know a task that the gateway awaits for it.
    const hasTasks = session && this.#awaitedTask === undefined;
    return Object.fromEntries(
      [...this.#questions].map(([key, { request }]) => {
        const params =
          request.params === undefined ? undefined : withoutHopMetadata(request.params, hasTasks);
        // Only a session can get `notifications/elicitation/complete`, which has this id.
        const shown = params === undefined || session ? params : without(params, ["elicitationId"]);
        const question = { method: request.method, ...(shown !== undefined && { params: shown }) };
        return [key, presentQuestion(question, presentation)];
      }),
    );
  }

  /** Sends the answers of the client to the server. Questions without an answer are asked again. */
  deliverAnswers({ responses, refusals = {} }: InputResponses): void {
    this.#settings.pace.answered(this.#questions.size);
    for (const [key, { request }] of [...this.#questions]) {
      const refusal = Object.hasOwn(refusals, key) ? refusals[key] : undefined;
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      if (refusal !== undefined) this.#answer(key, request, { error: refusal });
      else if (isObject(response)) this.#answer(key, request, { result: response });
    }
    this.#batchReady = false;
    if (this.#questions.size > 0) this.#startBatch();
  }

  /** Refuses all open questions: elicitations with "cancel", the others with an error. */
  refuseQuestions(why: string): void {
    this.#batchReady = false;
    if (this.#questions.size === 0) return;
    for (const [key, { request, kind }] of [...this.#questions]) {
      const error: RpcError = { code: CODE.internalError, message: why };
      this.#respond(key, request, kind === "elicitation" ? { result: { action: "cancel" } } : { error });
      this.#notifyWatchers(key);
    }
  }

  /** The session of the open questions is lost: no answer is wanted. */
  dropQuestions(): void {
    this.#batchReady = false;
    for (const key of [...this.#questions.keys()]) this.#removeQuestion(key);
  }

  /** Cancels the call at the server and ends it. */
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

  #answer(key: string, request: Request, answer: { result: JsonObject } | { error: RpcError }): void {
    const { remembered, isAlone } = this.#settings;
    const kind = questionKind(request) ?? "";
    // The server could show the roots in the other calls.
    if (kind === "roots" && remembered !== undefined && remembered.roots === undefined && !isAlone(this)) {
      const message = "other calls run on this connection";
      this.#respond(key, request, { error: { code: CODE.internalError, message } });
      return;
    }
    remembered?.answered(this, kind, answer);
    this.#respond(key, request, answer);
  }

  #respond(key: string, request: Request, content: { result: JsonObject } | { error: RpcError }): void {
    this.#questions.delete(key);
    this.#settings.respond({ jsonrpc: "2.0", id: request.id, ...content });
  }

  #startBatch(): void {
    this.#batchReady = false;
    this.#stopWaiting?.();
    let isAwaited = true;
    const ready = (): void => {
      if (!isAwaited) return;
      this.#batchReady = true;
      this.#wake?.();
    };
    const ms = this.#settings.pace.waitMs;
    const timer = ms === 0 ? undefined : setTimeout(ready, ms);
    if (timer === undefined) setImmediate(ready);
    this.#stopWaiting = () => {
      isAwaited = false;
      clearTimeout(timer);
    };
  }
}
