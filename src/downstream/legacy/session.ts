/** What does a session of one client hold: its calls in flight, open questions, subscriptions, and which notifications it receives? */
import { type LogLevel, type Notice, PROGRESS_METHOD, ProgressFilter, severityOf } from "../../core/call.js";
import type { Peer } from "../../core/call-record.js";
import { type Client, clientInfoLength, type Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { BudgetShare } from "../../core/fair-share.js";
import type { ChangeFeed } from "../../core/gateway-api.js";
import type { ListKind } from "../../core/lists.js";
import { Stop } from "../../core/stop.js";
import { type IdKey, idKeyOf, isProgressToken, type MessageId } from "../../wire/envelope.js";
import { objectAt, stringAt } from "../../wire/json.js";
import { InFlight } from "../edge.js";
import type { SessionSink } from "./messages.js";
import { type QuestionLimits, Questions } from "./questions.js";
import type { Revision } from "./revision.js";
import type { SessionStreams } from "./session-streams.js";
import { Subscriptions } from "./subscriptions.js";

/** What a session is made of. */
export interface SessionParts {
  readonly id: string;
  readonly client: Client;
  readonly revision: Revision;
  /** Where everything goes that belongs to no request. */
  readonly sink: SessionSink;
  /** The event streams, where it came over HTTP; they are `sink` then. */
  readonly streams?: SessionStreams;
  /** Whether it came over HTTP without them (HTTP+SSE). */
  readonly isHttp?: boolean;
  readonly changes: ChangeFeed;
  readonly questions: QuestionLimits;
  readonly memoryShare: BudgetShare;
}

/** Why a call in flight ends without its reply: the host cancelled it, or the session ended, or has another replica now. */
export type CallEnd = "cancelled" | "ended" | "moved";

interface InFlightCall {
  readonly id: MessageId;
  readonly controller: Stop;
  readonly onEnd: (why: CallEnd) => void;
}

/** One session of a legacy client. */
export class Session {
  readonly id: string;
  readonly revision: Revision;
  readonly sink: SessionSink;
  readonly streams: SessionStreams | undefined;
  /** As records of its calls name its host. */
  readonly peer: Peer;
  readonly questions: Questions;
  readonly subscriptions: Subscriptions;
  readonly openedAt = Date.now();
  /** Whether its host has asked for anything since it was opened. */
  wasUsed = false;
  /** The level of `logging/setLevel`; undefined until the client has set one. */
  logLevel: LogLevel | undefined;
  /** Called after its log level or its subscriptions have changed. */
  onChanged: () => void = () => {};
  readonly taskTokens = new TaskTokens();
  #drained: readonly (() => void)[] = NO_WAITERS;
  readonly #calls = new InFlight<InFlightCall>();
  #client: Client;
  #usedAt = performance.now();
  #advertised: ReadonlySet<ListKind> = EMPTY_SET;
  #initialized = false;
  readonly #retainedCharacters: number;
  #ended = false;

  constructor(parts: SessionParts) {
    this.id = parts.id;
    this.#client = parts.client;
    this.#retainedCharacters = clientInfoLength(parts.client);
    this.revision = parts.revision;
    this.sink = parts.sink;
    this.streams = parts.streams;
    this.peer = {
      revision: parts.revision.name,
      isHttp: parts.streams !== undefined || parts.isHttp === true,
      sessionId: parts.streams === undefined ? undefined : parts.id,
    };
    this.questions = new Questions(parts.questions);
    this.subscriptions = new Subscriptions(parts.changes, parts.client, parts.sink, parts.memoryShare);
  }

  get client(): Client {
    return this.#client;
  }

  /** The same principal came with other credentials, which may grant more or less. */
  updatePrincipal(principal: Principal): void {
    if (principal === this.#client.principal) return;
    this.#client = { ...this.#client, principal };
    this.subscriptions.updateClient(this.#client);
  }

  /** How much is kept of what its host said of itself, in characters. */
  get retainedCharacters(): number {
    return this.#retainedCharacters;
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  get isFull(): boolean {
    return this.#calls.isFull;
  }

  /** True while it is in use, so that no idle time may end it: a pipe is open, a stream is read, a call runs. */
  get isBusy(): boolean {
    return this.#calls.size > 0 || this.streams === undefined || this.streams.connectedCount > 0;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** When it was last used, by `performance.now()`. */
  get usedAt(): number {
    return this.#usedAt;
  }

  touch(): void {
    this.#usedAt = performance.now();
  }

  /** `initialize` was answered with the promise to tell when these lists change. */
  advertise(lists: ReadonlySet<ListKind>): void {
    this.#advertised = lists;
  }

  /** `notifications/initialized`: before it, only pings and log messages may be sent (basic/lifecycle). */
  initialized(): void {
    if (this.#initialized || this.#ended) return;
    this.#initialized = true;
    this.sink.markReady?.();
    this.subscriptions.watchLists(this.#advertised);
  }

  /**
   * A request begins; undefined when one with that id is in flight already. `onEnd` is called when it ends before
   * `finishCall`, after the listeners of its signal.
   */
  beginCall(id: MessageId, onEnd: (why: CallEnd) => void): Stop | undefined {
    if (this.#calls.get(id) !== undefined) return undefined;
    const controller = new Stop();
    this.#calls.add({ id, controller, onEnd });
    return controller;
  }

  /** Whether a request with that very id is in flight, and is the one of `controller` where one is given. */
  isInFlight(id: MessageId, controller?: Stop): boolean {
    const found = this.#calls.get(id);
    return found !== undefined && (controller === undefined || found.controller === controller);
  }

  /** Its response is about to be written; false when it was cancelled, and none may be. */
  finishCall(id: MessageId, controller: Stop): boolean {
    if (!this.isInFlight(id, controller)) return false;
    this.#forgetCall(id);
    return true;
  }

  /** Resolves when no request is in flight. */
  drained(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = [...this.#drained, resolve];
    });
  }

  /**
   * `notifications/cancelled`, with the client's reason where it gives one. An id that is not in flight is passed over,
   * as the specification asks.
   */
  cancel(id: MessageId, reason?: string): void {
    const found = this.#calls.get(id);
    if (found === undefined) return;
    const said = reason === undefined ? undefined : new GatewayError("cancelled", "downstream", reason);
    this.#abortCall(found, "cancelled", said);
  }

  /** Ends the session: its calls in flight are aborted, and each call's `onEnd` answers its request. */
  end(why: Exclude<CallEnd, "cancelled"> = "ended"): void {
    if (this.#ended) return;
    this.#ended = true;
    this.subscriptions.close();
    this.questions.close();
    for (const call of this.#calls.all()) {
      // Giving one up may have ended another.
      if (this.isInFlight(call.id, call.controller)) this.#abortCall(call, why);
    }
    this.sink.close();
  }

  #abortCall(call: InFlightCall, why: CallEnd, reason?: GatewayError): void {
    this.#forgetCall(call.id);
    call.controller.abort(reason);
    call.onEnd(why);
  }

  #forgetCall(id: MessageId): void {
    this.#calls.delete(id);
    if (this.#calls.size > 0 || this.#drained === NO_WAITERS) return;
    for (const drained of this.#drained) drained();
    this.#drained = NO_WAITERS;
  }
}

const EMPTY_SET: ReadonlySet<never> = new Set();
const NO_WAITERS: readonly (() => void)[] = [];

/** Whether `notice` may be sent in the course of a request with this progress token, if it had one. */
export function isForCall(notice: Notice, token: unknown, session: Session): boolean {
  return notice.method === PROGRESS_METHOD
    ? token !== undefined && notice.params?.progressToken === token
    : passesSessionFilter(notice, session);
}

/** Whether `notice` may be sent now, between calls. Progress passes where it belongs to a task and increases. */
export const isForSession = (notice: Notice, session: Session): boolean =>
  notice.method === PROGRESS_METHOD
    ? session.taskTokens.progressOf(notice.params?.progressToken)?.isIncreasing(notice) === true
    : passesSessionFilter(notice, session);

/** Log messages pass from the level the client set; where it set none all pass, as legacy servers may log before that. */
function passesSessionFilter({ method, params }: Notice, session: Session): boolean {
  const { logLevel, revision } = session;
  switch (method) {
    case "notifications/message":
      return logLevel === undefined || meetsLevel(stringAt(params, "level"), logLevel);
    case "notifications/elicitation/complete":
      return revision.elicitationModes || supportsUrlElicitation(session);
    case "notifications/tasks/status":
      return revision.tasks;
    default:
      return true;
  }
}

const supportsUrlElicitation = ({ client }: Session): boolean =>
  objectAt(objectAt(client.capabilities, "elicitation"), "url") !== undefined;

/** A message of an unknown level passes. */
function meetsLevel(level: string | undefined, least: LogLevel): boolean {
  const rank = severityOf(level);
  return rank === -1 || rank >= severityOf(least);
}

/** Tokens that are remembered; of older ones no progress is sent. */
const MAX_TASK_TOKENS = 1000;

/** The progress of calls that run as tasks, which outlive them (2025-11-25: basic/utilities/tasks), by their tokens. */
class TaskTokens {
  /** Made with the first: most sessions have none. */
  #tokens: Map<IdKey, ProgressFilter> | undefined;

  add(token: MessageId): ProgressFilter {
    this.#tokens ??= new Map();
    const progress = new ProgressFilter();
    this.#tokens.set(idKeyOf(token), progress);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_TASK_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
    return progress;
  }

  /** Undefined where no task has this token. */
  progressOf(token: unknown): ProgressFilter | undefined {
    return isProgressToken(token) ? this.#tokens?.get(idKeyOf(token)) : undefined;
  }
}
