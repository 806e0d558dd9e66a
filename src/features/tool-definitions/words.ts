/** What `cardea explain` prints of the form in which hosts see a tool. */
import type { ExplainedLines } from "../../cli/feature.js";
import type { ReshapedSchema } from "./explain-dialects.js";
import type { ShortenedDefinition } from "./explain-shortening.js";

/** The lines about members of `explainedDefinition`. */
export function explainedLines(explained: Readonly<Record<string, unknown>>): ExplainedLines {
  const shortened = explained.shortened as ShortenedDefinition | undefined;
  const reshaped = (explained.reshaped ?? []) as readonly ReshapedSchema[];
  return {
    ...(shortened !== undefined && { definition: [`hosts see it shorter: ${shortenedText(shortened)}`] }),
    schemas: reshaped.flatMap(({ at, dialect, changes }) => [
      `${at} lists its input schema for ${dialect}:`,
      ...changes.map((change) => `  ${change}`),
    ]),
  };
}

/** Each shortened part, with the responsible setting. */
function shortenedText(shortened: ShortenedDefinition): string {
  const { description, inputSchema, outputSchema, tokens } = shortened;
  const change = (part: string, size: typeof description, key: string): readonly string[] =>
    size === undefined ? [] : [`${part} ${size.from} -> ${size.to} characters by ${key}`];
  return [
    ...change("description", description, "descriptions.maxLength"),
    ...change("input schema", inputSchema, "schemas.compact"),
    ...change("output schema", outputSchema, "schemas.compact"),
    `about ${tokens.from} -> ${tokens.to} tokens`,
  ].join(", ");
}
