/** The metrics of tool search. */
import type { FeatureCounter } from "../../core/feature.js";

export const SEARCHES: FeatureCounter = {
  name: "cardea_tool_searches_total",
  help: "Searches with find_tools, by whether a tool matched.",
  labelNames: ["result"],
};
export const CALLS: FeatureCounter = {
  name: "cardea_search_calls_total",
  help: "Calls of hosts through call_tool, by outcome; they are in cardea_requests_total, too.",
  labelNames: ["server", "tool", "outcome"],
};

export const COUNTERS: readonly FeatureCounter[] = [SEARCHES, CALLS];
