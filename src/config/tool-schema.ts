/** The schema of tool settings of a server: arguments and overrides. */
import { z } from "zod";
import type { Section } from "./section.js";
import { keysWithin } from "./section-keys.js";

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

/** The keys of the gateway in one of `overrides`. */
const override = {
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
};

/** The zod schema of `overrides`, in which keys of features are left out. */
export const ownOverridesSchema = z.record(z.string().min(1), z.object(override));

/** The zod schema of `overrides`, with the keys of features. */
export const overridesSchema = (sections: readonly Section[]) =>
  z.record(
    z.string().min(1),
    z
      .strictObject({
        ...override,
        ...(keysWithin(sections, undefined, "tool") as Readonly<Record<never, z.ZodType>>),
      })
      .meta({ id: "override" }),
  );
