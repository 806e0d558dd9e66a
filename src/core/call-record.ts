/** What is recorded of a finished call: who, what, how it ended, and where its time went. */
import type { GatewayError } from "./errors.js";

/** W3C trace context of a call: of its server span where tracing is on, else what the host sent. */
interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** One finished call, as live calls, the audit log and traces see it. Texts are not redacted. */
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
  /** The rule that decided; absent where none did. */
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
  /** Of a round that resumes a call: how long the host or a person took to answer, which is not in `total`. */
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
  /** Whether the call has passed the policy; `policyMs` is final then. */
  isRouted: boolean;
  rule: string | undefined;
  decision: string | undefined;
  trace: TraceContext | undefined;
  /** What became of the approval that the call came with. */
  approval: "accepted" | "declined" | undefined;
  /** The arguments without what rules redact; absent where no rule redacts any. */
  forwardedArguments: unknown;
  /** Whether its line of the audit log is written; absent without an audit log. */
  audited: Promise<boolean> | undefined;
  /** Gives the call up, so that the host receives `error`; absent while no server works on it. */
  cancel: ((error: GatewayError) => void) | undefined;
  /** Where the call stands among those that run; -1 outside. */
  slot: number;
}

/** The notes of a call that begins. */
export const callNotes = (): CallNotes => ({
  startedAt: 0,
  queueMs: 0,
  policyMs: 0,
  upstreamMs: 0,
  inputMs: 0,
  isRouted: false,
  rule: undefined,
  decision: undefined,
  trace: undefined,
  approval: undefined,
  forwardedArguments: undefined,
  audited: undefined,
  cancel: undefined,
  slot: -1,
});
