/** The schema of tool settings of a server: overrides and shorter definitions. */
import { z } from "zod";

const dialectSchema = z
  .enum(["openai", "gemini", "anthropic", "none"])
  .describe(
    "The family of models whose APIs get the tools of this URL: what they refuse in an input schema (`anyOf` at the top, `const`, `contentEncoding`, `x-…`) is listed in another form, or left out and said in a description. Calls are checked against the tool's own schema; `cardea explain` prints the differences. At the top level: of all URLs; on a server: of its URL `/mcp/NAME`; in a profile: of the profile. Default: `none`.",
  );

/** The zod schema of `schemas` of a profile. */
export const profileSchemas = z.strictObject({ dialect: dialectSchema });

/** The zod schemas of keys that shorten the definitions of tools, at the top level and per server. */
export const shorteningSchemas = {
  descriptions: z
    .strictObject({
      maxLength: z
        .int()
        .min(40)
        .max(100_000)
        .describe(
          "The maximum length of a tool's description, in characters. A longer one is cut at the end of a sentence or word and ends in `…`; one from `overrides` is not cut.",
        ),
    })
    .exactOptional()
    .describe("Shorter descriptions of tools, for fewer tokens in a model's context. Default: unchanged."),
  schemas: z
    .strictObject({
      compact: z
        .boolean()
        .exactOptional()
        .describe(
          "Leaves `title`, `$comment`, `examples` and descriptions that repeat a name out of input and output schemas, and cuts descriptions in them at 200 characters. The schemas accept the same values. Default: `false`.",
        ),
      dialect: dialectSchema.exactOptional(),
    })
    .exactOptional()
    .describe(
      "How the schemas of tools are listed: shorter, and for a family of models. Default: unchanged.",
    ),
} as const;

/** Shown names may hold anything that can be seen. */
const VISIBLE_TEXT = /^[^\p{C}]*$/u;

const values = z.record(z.string().min(1), z.unknown());

const toolArguments = z.strictObject({
  defaults: values
    .default({})
    .describe("Values of arguments that a host omits. They are optional in the schema that hosts see."),
  fixed: values
    .default({})
    .describe(
      "Values that always apply. These arguments are removed from the schema that hosts see; values that a host sends are ignored.",
    ),
  parseJsonText: z
    .boolean()
    .exactOptional()
    .describe("Instead of `arguments.parseJsonText` of the server, for this tool."),
});

/** The zod schema of `arguments` of a server. @param parsed the servers for which it is `true` by default */
export const argumentsSchema = (parsed: readonly string[]) =>
  z.strictObject({
    parseJsonText: z
      .boolean()
      .describe(
        `Whether an argument that is JSON text (\`"{\\"a\\": 1}"\`) is parsed where the input schema of its tool admits no text, before rules are evaluated; a text that cannot be parsed is refused by name. Default: ${parsed.map((servers) => `\`true\` for ${servers}, else `).join("")}\`false\`.`,
      ),
  });

/** The zod schema of `overrides`. */
export const overridesSchema = z.record(
  z.string().min(1),
  z
    .strictObject({
      name: z
        .string()
        .regex(VISIBLE_TEXT, { error: "cannot hold control characters" })
        .min(1)
        .max(128)
        .exactOptional()
        .describe("Replaces its name, after the prefix. Rules and limits match this name."),
      title: z.string().min(1).exactOptional().describe("Replaces its title."),
      description: z.string().exactOptional().describe("Replaces its description."),
      arguments: toolArguments
        .exactOptional()
        .describe("Arguments from the config. Rules are evaluated with them."),
    })
    .meta({ id: "override" }),
);
