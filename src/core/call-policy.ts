/** What the gateway reads of the policy of a config: why a call may be made, what is redacted outside of calls, and which approvals ran out. */
import type { JsonObject } from "../wire/json.js";
import type { Notice } from "./call.js";

/** What a rule does. */
type RuleEffect = "allow" | "deny" | "approve" | "redact" | "hide";

/** Why a call is allowed or refused, for `cardea explain`. */
export interface Explanation {
  readonly effect: RuleEffect;
  /** The rule that decides, or `default`. */
  readonly rule: string;
  readonly message?: string;
  readonly visible: boolean;
  readonly rules: readonly {
    readonly rule: string;
    readonly effect: RuleEffect;
    readonly on: "call" | "sampling" | "elicitation" | "roots";
    readonly matches: boolean;
    /** Whether this is the one that decided. */
    readonly decides: boolean;
    readonly why: string;
    /** The target that was evaluated, where a method names several. */
    readonly of?: string;
  }[];
  readonly limits: readonly {
    readonly limit: string;
    readonly per: "principal" | "session" | "server" | "tool" | "all";
    /** How long until a call would be let through; 0 for now. */
    readonly waitMs: number;
    readonly timeoutMs?: number;
    readonly concurrency?: number;
  }[];
}

/** Takes out what rules redact from the messages of one server to one client. */
export interface MessageRedaction {
  /** Undefined where nothing is left that a host could read. */
  notice(notice: Notice): Notice | undefined;
  /** A question, with its method and parameters. */
  question(question: JsonObject): Promise<JsonObject>;
  /** The answer of the host to a question. */
  answer(answer: JsonObject): Promise<JsonObject>;
}

/** An approval whose time is over. */
export interface ExpiredApproval {
  readonly rule: string;
  readonly principal: string;
  /** The exposed name or URI, cut. */
  readonly target: string;
  readonly server: string;
  /** Absent where it was asked for and no answer came. */
  readonly outcome?: "remembered";
  /** Of the call that asked. */
  readonly traceId?: string;
}

/** Who learns that the time of approvals is over. */
export interface ApprovalExpiry {
  /** How long (ms) an approval that is requested now can be given. */
  readonly answerMs: () => number;
  readonly onExpired: (approval: ExpiredApproval) => void;
}
