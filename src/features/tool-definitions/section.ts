/** The sections `descriptions` and `schemas`, of the file, of a server and of a profile. */
import { z } from "zod";
import { type Section, sectionOf } from "../../config/section.js";

/** A family of models, whose APIs refuse the same schemas; `none` for the schemas of servers. */
export type Dialect = "openai" | "gemini" | "anthropic" | "none";

/** How the schemas of tools are listed. */
interface SchemaSettings {
  readonly compact?: boolean;
  readonly dialect?: Dialect;
}

/** How the definitions of tools are listed. */
export interface DefinitionSettings {
  readonly descriptions?: { readonly maxLength: number };
  readonly schemas?: SchemaSettings;
}

declare module "../../config/config.js" {
  interface FeatureSettings extends DefinitionSettings {}
  interface ServerFeatureSettings extends DefinitionSettings {}
  interface ProfileFeatureSettings {
    readonly schemas?: { readonly dialect: Dialect };
  }
}

const dialect = z
  .enum(["openai", "gemini", "anthropic", "none"])
  .describe(
    "The family of models whose APIs get the tools of this URL: what they refuse in an input schema (`anyOf` at the top, `const`, `contentEncoding`, `x-…`) is listed in another form, or left out and said in a description. Calls are checked against the tool's own schema; `cardea explain` prints the differences. At the top level: of all URLs; on a server: of its URL `/mcp/NAME`; in a profile: of the profile. Default: `none`.",
  );

const descriptions = z
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
  .describe("Shorter descriptions of tools, for fewer tokens in a model's context. Default: unchanged.");

const schemas = z
  .strictObject({
    compact: z
      .boolean()
      .exactOptional()
      .describe(
        "Leaves `title`, `$comment`, `examples` and descriptions that repeat a name out of input and output schemas, and cuts descriptions in them at 200 characters. The schemas accept the same values. Default: `false`.",
      ),
    dialect: dialect.exactOptional(),
  })
  .exactOptional()
  .describe("How the schemas of tools are listed: shorter, and for a family of models. Default: unchanged.");

const section = sectionOf({
  path: "descriptions",
  after: "naming",
  schema: descriptions,
  change: "reload",
  complete: (shape) => shape,
});
const ofSchemas = { ...section, path: "schemas", after: "descriptions", schema: schemas };

/** All of them. */
export const SECTIONS: readonly Section[] = [
  section,
  ofSchemas,
  { ...section, of: "server", after: "overrides" },
  { ...ofSchemas, of: "server" },
  sectionOf({
    of: "profile",
    path: "schemas",
    schema: z.strictObject({ dialect }).exactOptional().describe("How the schemas of its tools are listed."),
    change: "reload",
    complete: (shape) => shape,
  }),
];
