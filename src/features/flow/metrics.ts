/** How often has each flow rule decided what? */
import type { FeatureCounter } from "../../core/feature.js";

/**
 * A decision about one call: the effect of a rule that matches, `allow` of one that does not, `unknown` where the conversation is not
 * known well enough to tell, so that the call is let through.
 */
export type FlowDecision = "observe" | "approve" | "deny" | "allow" | "unknown";

export const DECISIONS: FeatureCounter = {
  name: "cardea_flow_decisions_total",
  help: "Decisions of flow rules about calls of tools that send.",
  labelNames: ["rule", "decision"],
};
