/** What `explain` says of the form in which hosts see a tool. */
import type { ExplainedMembers, ExplainedTool, SettingsOfFeatures } from "../../core/feature.js";
import { reshapedSchemas } from "./explain-dialects.js";
import { shortenedDefinition } from "./explain-shortening.js";

/** `shortened`: the differences to the definition of the server. `reshaped`: the URLs with another input schema. Each absent without any. */
export function explainedDefinition(tool: ExplainedTool, config: SettingsOfFeatures): ExplainedMembers {
  const shortened = shortenedDefinition(tool, config);
  const reshaped = reshapedSchemas(tool, config);
  return {
    ...(shortened !== undefined && { definition: { shortened } }),
    ...(reshaped.length > 0 && { schemas: { reshaped } }),
  };
}
