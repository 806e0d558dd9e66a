/** The events of the audit log, and the log as the rest of the feature sees it. */
import type { Call, Reply } from "../../core/call.js";
import type { CallRecord, CallTimes } from "../../core/call-record.js";
import type { GatewayEvent } from "../../core/gateway-events.js";
import type { AuditSink } from "./sink/sink.js";

/** One event, before it has its place in the chain. */
export interface AuditEvent extends Omit<GatewayEvent, "kind"> {
  readonly kind: GatewayEvent["kind"] | "call" | "question" | "start" | "stop";
  /** ISO 8601. Default: now. */
  readonly at?: string;
  readonly ms?: CallTimes;
  /** SHA-256 in base64 of the arguments in canonical form. */
  readonly argumentsDigest?: string;
  /** 32 hex digits. */
  readonly traceId?: string;
}

/** The audit log. Nothing here throws or waits, but `close`. */
export interface AuditLog {
  /** Whether calls are refused while the log cannot be written. */
  readonly required: boolean;
  /** Why the log cannot be written now, as the end of a sentence about it; undefined while it can. */
  readonly problem: string | undefined;
  /** Events that were lost while the log could not be written. */
  readonly lost: number;
  /** Where lines are posted; undefined if they are not. */
  readonly sink: Pick<AuditSink, "problem" | "unsent"> | undefined;
  /** Records a finished call; `call.record.recorded` then says whether its line is written. */
  readonly call: (record: CallRecord, call: Call, reply: Reply) => void;
  /** Records anything else. */
  event(event: AuditEvent): void;
  /** Texts are redacted again, because a config may have brought new secrets. */
  secretsChanged(): void;
  /** Writes the last line, waits until it is written, and gives the file to others. Unless it `isImmediate`, lines are posted for 3 s. */
  close(isImmediate: boolean): Promise<void>;
}
