/** Which metrics are there of rules and limits? */
import type { FeatureCounter, FeatureGauge, RunningGateway } from "../../core/feature.js";
import type { NoticeOutcome } from "./second-person/notice-queue.js";
import type { ApprovalEnd } from "./second-person/open-approvals.js";

/** A value of the label `decision`. */
export type DecisionLabel = "allow" | "deny" | "approve" | "decline" | "redact" | "hide" | "observe";

/** `server` is `none` where the limit is not per server. */
const RATE_LIMITED: FeatureCounter = {
  name: "cardea_rate_limited_total",
  help: "Calls refused by a limit.",
  labelNames: ["server", "rule"],
};
const DECISIONS: FeatureCounter = {
  name: "cardea_policy_decisions_total",
  help: "Decisions of the policy.",
  labelNames: ["decision", "rule"],
};

/** `decision`: `accepted`, `declined`, `expired`, or `withdrawn` where the caller gave up. */
const APPROVALS: FeatureCounter = {
  name: "cardea_approvals_total",
  help: "Approvals by other persons that have ended.",
  labelNames: ["decision", "rule"],
};

/** `outcome`: `accepted`, `failed` after the last attempt, or `dropped` where too many waited. */
const NOTICES: FeatureCounter = {
  name: "cardea_approval_notices_total",
  help: "Notices of approvals by other persons, to their receivers (`notify`).",
  labelNames: ["outcome"],
};

/** Read from the approvals themselves. */
export const OPEN_APPROVALS: FeatureGauge = {
  name: "cardea_approvals_open",
  help: "Calls that wait for the decision of another person.",
};

/** All that are counted one by one. */
export const COUNTERS: readonly FeatureCounter[] = [RATE_LIMITED, DECISIONS, APPROVALS, NOTICES];

/** Counted by the rules themselves. */
export const RULE_MATCHES: FeatureCounter = {
  name: "cardea_policy_rule_matches_total",
  help: "Calls and questions about which a rule decided, or in which it redacted.",
  labelNames: ["rule"],
};

/** Counts the end of an approval by another person. */
export const countEnd = (gateway: Pick<RunningGateway, "count">, decision: ApprovalEnd, rule: string): void =>
  gateway.count(APPROVALS, { decision, rule });

/** Counts a notice of an approval. */
export const countNotice = (gateway: Pick<RunningGateway, "count">, outcome: NoticeOutcome): void =>
  gateway.count(NOTICES, { outcome });

/** What rules and limits report. */
export interface PolicyMetrics {
  rateLimited(server: string, rule: string): void;
  policyDecided(decision: DecisionLabel, rule: string): void;
  /** A call is queued at a limit until the returned function is called. */
  enterQueue(server: string): () => void;
}

/** Counts in the gateway. */
export const countedIn = (gateway: Pick<RunningGateway, "count" | "enterQueue">): PolicyMetrics => ({
  rateLimited: (server, rule) => gateway.count(RATE_LIMITED, { server, rule }),
  policyDecided: (decision, rule) => gateway.count(DECISIONS, { decision, rule }),
  enterQueue: (server) => gateway.enterQueue(server),
});
