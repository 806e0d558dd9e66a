/** What does the gateway tell its audit log? The log itself is in `audit/`; without `audit` in the config there is none. */
import type { Call, Reply } from "./call.js";
import type { CallRecord, CallTimes } from "./call-record.js";

/** What a line of the audit log is about. */
type AuditKind = "call" | "question" | "approval" | "reload" | "admin" | "sign_in" | "start" | "stop";

/** One event, before it has its place in the chain. */
export interface AuditEvent {
  readonly kind: AuditKind;
  /** ISO 8601. Default: now. */
  readonly at?: string;
  /** The id of who did it. */
  readonly principal?: string;
  /** Name and version of the host. */
  readonly host?: string;
  /** A method of MCP; of an action of an operator its name, such as `servers/restart`. */
  readonly method?: string;
  readonly target?: string;
  /** The server, by its key in the config. */
  readonly server?: string;
  /** Of an approval `accepted`, `declined` or `expired`; else what the policy decided. */
  readonly decision?: string;
  readonly rule?: string;
  readonly outcome?: string;
  readonly ms?: CallTimes;
  /** SHA-256 in base64 of the arguments in canonical form. */
  readonly argumentsDigest?: string;
  readonly arguments?: unknown;
  /** 32 hex digits. */
  readonly traceId?: string;
}

/** What an operator did over the admin listener. */
interface AdminAction {
  /** `restart_server`, `disable_tool`, `enable_tool`, `end_session`, `cancel_call`, `revoke_approval`, `sign_out`. */
  readonly action: string;
  /** What it was done to: a name, a handle or an id. */
  readonly target: string;
  readonly server?: string;
  readonly principal?: string;
  /** `done`, or why it was not. */
  readonly outcome: string;
}

/** The audit log, as the parts of the gateway see it. Nothing here throws or waits. */
export interface AuditLog {
  /** Whether calls are refused while the log cannot be written. */
  readonly required: boolean;
  /** Why the log cannot be written now, as the end of a sentence about it; undefined while it can. */
  readonly problem: string | undefined;
  /** Events that were lost while the log could not be written. */
  readonly lost: number;
  /** Records a finished call; `call.record.audited` then says whether its line is written. */
  readonly call: (record: CallRecord, call: Call, reply: Reply) => void;
  /** Records what an operator did. */
  admin(action: AdminAction): void;
  /** Records anything else. */
  event(event: AuditEvent): void;
  /** Texts are redacted again, because a config may have brought new secrets. */
  secretsChanged(): void;
  /** Writes the last line, waits until it is written, and gives the file to others. */
  close(): Promise<void>;
}
