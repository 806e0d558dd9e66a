/** How is the input schema of a tool listed for families of models, and what of it is left out? For `cardea explain`. */
import type { ExplainedTool, SettingsOfFeatures } from "../../core/feature.js";
import { objectAt } from "../../wire/json.js";
import { reshape } from "./dialects/reshape.js";
import { dialectAt } from "./forms.js";
import type { Dialect } from "./section.js";

/** One URL where the schema is listed in another form. */
export interface ReshapedSchema {
  /** The path of the URL, such as `/mcp` or `/mcp/NAME`. */
  readonly at: string;
  readonly dialect: Dialect;
  /** What is different, a sentence each. */
  readonly changes: readonly string[];
}

/** The URLs that list the tool in another form. */
export function reshapedSchemas(
  { route: { item, overriddenItem }, urls }: Pick<ExplainedTool, "route" | "urls">,
  config: SettingsOfFeatures,
): readonly ReshapedSchema[] {
  const schema = objectAt(overriddenItem ?? item, "inputSchema");
  if (schema === undefined) return [];
  return urls.flatMap(({ path: at, endpoint }) => {
    const dialect = dialectAt(config, endpoint);
    if (dialect === "none") return [];
    const { changes } = reshape(schema, dialect);
    return changes.length === 0 ? [] : [{ at, dialect, changes }];
  });
}
