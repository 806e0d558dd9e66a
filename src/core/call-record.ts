/** What is recorded of a finished call: who, what, how it ended, and where its time went. */
import type { MessageId } from "../wire/envelope.js";
import type { GatewayError } from "./errors.js";
import type { InputKind } from "./methods.js";

/** W3C trace context of a call: of its server span where tracing is on, else what the host sent. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** The other end of a connection: a host, or a server. */
export interface Peer {
  /** The revision of the protocol that is spoken there. */
  readonly revision: string;
  readonly isHttp: boolean;
  /** Absent if there is no session, or it has no id. */
  readonly sessionId?: string | undefined;
}

/** The round of questions that a call answers. */
interface AnsweredRound {
  /** That of the call that ended with the questions. */
  readonly trace: TraceContext | undefined;
  readonly kinds: readonly InputKind[];
}

/** A question of a server that the policy or a limit refused. */
interface RefusedQuestion {
  /** Such as `elicitation/create`. */
  readonly method: string;
  /** The rule or limit; undefined where none decided. */
  readonly rule: string | undefined;
}

/** One finished call, as live calls and features see it. Texts are not redacted. */
export interface CallRecord {
  /** `Call.id`; the pages of several workers show `worker` beside it. */
  readonly id: number;
  /** When the call came, in ms since 1970. */
  readonly at: number;
  /** The id of its principal. */
  readonly principal: string;
  /** Name and version of the host, cut; "" where it has none. */
  readonly host: string;
  /** Cut, as hosts choose it. */
  readonly method: string;
  /** The exposed name or URI, cut; "" for a method without a target. */
  readonly target: string;
  /** The server, by its key in the config; "" where none owns the target. */
  readonly server: string;
  /** `ok`, `tool_error`, `input_required`, `error`, or a refusal word. */
  readonly outcome: string;
  /** The rule that decided; absent if none did. */
  readonly rule?: string | undefined;
  /** What it decided: `allow`, `deny`, `approve`, `decline`, `hide`. */
  readonly decision?: string | undefined;
  /** 32 hex digits. */
  readonly traceId?: string | undefined;
  readonly ms: CallTimes;
}

/** Where the time of a call went, in ms. */
export interface CallTimes {
  /** From the call to its reply. */
  readonly total: number;
  /** Waiting for a place: at the server, and at limits. */
  readonly queue: number;
  /** From the call until it is on its way to its server, or refused, without `queue`. */
  readonly policy: number;
  /** From each sending to the server's answer, added up over attempts. */
  readonly upstream: number;
  /** How long a person was waited for: in a round that resumes a call for the answer, in any round for an approver. It is not in `total`. */
  readonly input: number;
}

/** Mutable, one for a call, shared by all copies of it: layers add to it what only they know. */
export interface CallNotes {
  /** `performance.now()` when the call entered the pipeline. */
  startedAt: number;
  queueMs: number;
  policyMs: number;
  upstreamMs: number;
  inputMs: number;
  /** How long it was held for a person, which counts as no time of the call. */
  heldMs: number;
  /** Whether the call has passed the policy; `policyMs` is final then. */
  isRouted: boolean;
  rule: string | undefined;
  decision: string | undefined;
  trace: TraceContext | undefined;
  /** That of `trace`; undefined as `trace` is. */
  traceId: string | undefined;
  /** What is kept of its span until the call ends (`tracing/`); undefined if the call has none. */
  span: unknown;
  /** The round whose questions it answers; undefined for any other call. */
  answered: AnsweredRound | undefined;
  /** The JSON-RPC id of the host; undefined for a call that is no request of a host. */
  readonly requestId: MessageId | undefined;
  readonly host: Peer | undefined;
  /** The context of its HTTP request, unchecked; undefined if the request has none. */
  readonly ambient: TraceContext | undefined;
  /** What its server gets as trace context, in place of what the host sent; undefined if that is forwarded. */
  sentTrace: TraceContext | undefined;
  /** The JSON-RPC id of the last request to its server, and that server; undefined before. */
  sentId: number | undefined;
  sentTo: Pick<Peer, "revision" | "sessionId"> | undefined;
  /** What became of the approval that the call came with. */
  approval: "accepted" | "declined" | "expired" | undefined;
  /** The questions in it that no host was asked; undefined while there are none. */
  refusedQuestions: RefusedQuestion[] | undefined;
  /** The arguments without what rules redact; absent if no rule redacts any. */
  forwardedArguments: unknown;
  /** Whether a feature that must record the call has done so, or when that is known; absent without such a feature. */
  recorded: boolean | Promise<boolean> | undefined;
  /** Gives the call up, so that the host receives `error`; absent while no server works on it. */
  cancel: ((error: GatewayError) => void) | undefined;
  /** Where the call stands among those that run; -1 outside. */
  slot: number;
}

/** The notes of a call that begins, and how it came. */
export const callNotes = (requestId?: MessageId, host?: Peer, ambient?: TraceContext): CallNotes => ({
  startedAt: 0,
  queueMs: 0,
  policyMs: 0,
  upstreamMs: 0,
  inputMs: 0,
  heldMs: 0,
  isRouted: false,
  rule: undefined,
  decision: undefined,
  trace: undefined,
  traceId: undefined,
  span: undefined,
  answered: undefined,
  requestId,
  host,
  ambient,
  sentTrace: undefined,
  sentId: undefined,
  sentTo: undefined,
  approval: undefined,
  refusedQuestions: undefined,
  forwardedArguments: undefined,
  recorded: undefined,
  cancel: undefined,
  slot: -1,
});

/** The notes of the next round of a call that came once. */
export const notesOfNextRound = (before: CallNotes | undefined): CallNotes =>
  callNotes(before?.requestId, before?.host, before?.ambient);

/** The trace context in the headers of an HTTP request. */
export function ambientContext(headers: {
  readonly [name: string]: string | readonly string[] | undefined;
}): TraceContext | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== "string") return undefined;
  return { traceparent, tracestate: typeof tracestate === "string" ? tracestate : undefined };
}
