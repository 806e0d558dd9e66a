/** What `explain` and `tokens` say of tool search. */
import type {
  CountedTools,
  ExplainedMembers,
  ExplainedTool,
  Saving,
  SettingsOfFeatures,
} from "../../core/feature.js";
import { SEARCH_TOOL_NAMES, SEARCH_TOOLS } from "./own-tools.js";
import { exposureOf } from "./section.js";

/** Whether hosts list a tool, and the setting that decides. */
export const explainedTool = (
  { isListed }: ExplainedTool,
  { features }: SettingsOfFeatures,
): ExplainedMembers => ({ list: { listing: { exposure: exposureOf(features).exposure, isListed } } });

/** The two tools in place of all others; nothing for a list that models can read as a whole. */
export async function searchSaving(
  { entries, costOf }: CountedTools,
  { features }: SettingsOfFeatures,
): Promise<readonly Saving[]> {
  const { exposure, autoThreshold } = exposureOf(features);
  const whole = entries.reduce((sum, { item }) => sum + costOf(item).tokens, 0);
  if (exposure !== "full" || whole <= autoThreshold) return [];
  const own = SEARCH_TOOL_NAMES.reduce((sum, name) => sum + costOf(SEARCH_TOOLS[name]).tokens, 0);
  return [{ key: "tools.exposure", value: "search", tokens: whole - own }];
}
