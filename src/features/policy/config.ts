/** The sections `policy` and `limits`, completed: names and defaults filled in, times in ms. */
import type { WebhookTarget } from "../../outgoing/webhook.js";
import type { DetectedKind } from "./detect/detector.js";

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly policy?: PolicyConfig;
    readonly limits?: readonly LimitConfig[];
  }
}

/** What is read of a config. */
export interface PolicySettings {
  readonly policy?: PolicyConfig;
  readonly limits?: readonly LimitConfig[];
}

/** Rules in order, and the default effect. */
export interface PolicyConfig {
  /** The effect without a matching rule. */
  readonly default: "allow" | "deny" | "hide";
  /** In file order; the first match decides. */
  readonly rules: readonly RuleConfig[];
  /** Of rules with approvers and without one of their own, which have it too. */
  readonly notify?: NotifyConfig;
}

/** Who gets notices of approvals by other persons. */
export interface NotifyConfig extends WebhookTarget {
  /** Where approvers reach the console; undefined: where this process listens for operators. */
  readonly console?: string | undefined;
}

/** What a rule applies to: a host's call, or one kind of question from a server. */
export type InteractionKind = "call" | "sampling" | "elicitation" | "roots";

/** The matcher of a rule or limit. Absent members match everything. */
export interface MatcherConfig {
  readonly on: InteractionKind;
  /** Globs over exposed names and URIs. If one of these four is set, the other kinds do not match. */
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
  /** Globs over methods without a target. */
  readonly methods?: readonly string[];
  /** Globs over the servers' keys. */
  readonly servers?: readonly string[];
  /** Globs over the ids of principals. */
  readonly principals?: readonly string[];
  /** The principal must be in one of these. */
  readonly groups?: readonly string[];
  /** The principal must have all of these. */
  readonly scopes?: readonly string[];
  /** Annotations that a tool must have, such as `destructiveHint: true`. */
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/** One rule. */
export interface RuleConfig extends MatcherConfig {
  /** As in the file, or `rule-N` with its index. */
  readonly name: string;
  /** Whether the name is `rule-N`. */
  readonly isUnnamed?: true;
  /** A CEL expression. */
  readonly when?: string;
  readonly effect: "allow" | "deny" | "approve" | "redact" | "hide";
  /** The message for the refused caller, or for the person who approves. */
  readonly message?: string;
  /** With `approve`: how long the same call of the same principal needs no further approval. */
  readonly rememberMs?: number;
  /** With `approve`: who decides in place of the caller, by id or as `group:NAME`. */
  readonly approvers?: readonly string[];
  /** With `approvers`: how long a call waits for a decision. */
  readonly approvalTimeoutMs?: number;
  /** With `approvers`: who gets notices of its approvals. */
  readonly notify?: NotifyConfig;
  /** With `redact`. */
  readonly redact?: RedactConfig;
  /** With `on: sampling`: the maximum tokens of a request. */
  readonly maxTokens?: number;
  /** With `on: sampling`: removes `includeContext` from the request to the host. */
  readonly stripContext?: boolean;
  /** With `on`: how many rounds of questions one call may take. */
  readonly maxRounds?: number;
}

interface RedactConfig {
  readonly arguments: RedactionConfig;
  readonly results: RedactionConfig;
  /** What is found without a pattern, in both directions. */
  readonly detect?: readonly DetectedKind[];
  /** The replacement text. */
  readonly replacement: string;
}

/** What a rule redacts. */
export interface RedactionConfig {
  /** Members by their dotted path; `*` is any member or element. */
  readonly paths: readonly string[];
  /** RE2 patterns; matches in any text are removed. */
  readonly patterns: readonly string[];
}

/** One limit. */
export interface LimitConfig extends MatcherConfig {
  /** As in the file, or `limit-N` with its index. */
  readonly name: string;
  /** Whether the name is `limit-N`. */
  readonly isUnnamed?: true;
  readonly rate?: { readonly count: number; readonly windowMs: number };
  /** The burst; default the count of the rate. */
  readonly burst?: number;
  /** Calls per window, which starts with its first call. */
  readonly quota?: { readonly count: number; readonly windowMs: number };
  readonly concurrency?: number;
  /** The maximum queue length. */
  readonly queue?: number;
  readonly timeoutMs?: number;
  /** What shares the limit. */
  readonly per: "principal" | "session" | "server" | "tool" | "all";
}
