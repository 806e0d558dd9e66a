/** The section `checks` of a server. */
import { z } from "zod";
import { sectionOf } from "../../config/section.js";

const bytes = z.int().min(1).max(1_073_741_824);

const schema = z.strictObject({
  arguments: z
    .boolean()
    .default(false)
    .describe(
      "Whether arguments must match the tool's input schema; a call with others is refused before it reaches the server.",
    ),
  results: z
    .boolean()
    .default(false)
    .describe("Whether results must match the tool's output schema; others are withheld."),
  maxArgumentBytes: bytes
    .exactOptional()
    .describe("The maximum size of the arguments as JSON, in bytes. Default: that of the body."),
  maxResultBytes: bytes
    .exactOptional()
    .describe("The maximum size of a result as JSON, in bytes; a larger one is withheld. Default: no limit."),
});

/** The checks of a server's calls and results. */
export interface ChecksConfig {
  /** Whether arguments are validated against the tool's input schema. */
  readonly arguments: boolean;
  /** Whether results are validated against the tool's output schema. */
  readonly results: boolean;
  readonly maxArgumentBytes?: number;
  readonly maxResultBytes?: number;
}

declare module "../../config/config.js" {
  interface ServerFeatureSettings {
    readonly checks?: ChecksConfig;
  }
}

export const section = sectionOf({
  of: "server",
  path: "checks",
  schema: schema.exactOptional().describe("Validation of arguments and results of its tools. Default: none."),
  change: "reload",
  complete: (shape): ChecksConfig => shape,
});
