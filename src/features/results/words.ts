/** What `cardea explain` says of the budget of a tool. */
import type { ExplainedLines } from "../../cli/feature.js";

/** A line about the budget; none where the tool has none. */
export function explainedLines({ resultBudget }: Readonly<Record<string, unknown>>): ExplainedLines {
  if (resultBudget === undefined) return {};
  const { characters, hidesSchema } = resultBudget as {
    readonly characters: number;
    readonly hidesSchema: boolean;
  };
  const schema = hidesSchema
    ? "; its outputSchema is not listed, because a larger structure is left out"
    : "";
  return {
    definition: [`a result over ${characters / 4} tokens becomes a preview (results.maxTokens)${schema}`],
  };
}
