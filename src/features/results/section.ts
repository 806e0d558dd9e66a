/** The section `results`, at the top level and in a server. */
import { z } from "zod";
import { duration } from "../../config/duration-schema.js";
import { type OwnToolNames, sectionOf } from "../../config/section.js";
import { parseDuration } from "../../config/units.js";
import { READ_RESULT } from "./own-tool.js";

/** The smallest budget (tokens): a preview needs the note of how to read on. */
const MIN_TOKENS = 100;
const DEFAULT_KEEP = "15m";
/** 64 MiB. */
const DEFAULT_BYTES = 67_108_864;

const tokens = z.int().min(MIN_TOKENS).max(10_000_000);
const bytes = z.int().min(1_000).max(17_179_869_184);

const schema = z.strictObject({
  maxTokens: tokens
    .exactOptional()
    .describe(
      "The budget of a tool's result, in tokens (4 characters each). Of a larger one hosts get a preview, and read the rest with `read_result` or `resources/read`. Default: no budget.",
    ),
  keep: duration(
    `How long a result is kept after it was read last. Default: \`${DEFAULT_KEEP}\`.`,
  ).exactOptional(),
  maxBytes: bytes
    .default(DEFAULT_BYTES)
    .describe(
      "How much is kept in all, in bytes; a principal has a quarter of it. The oldest results go first.",
    ),
});

const ofServer = z.strictObject({
  maxTokens: z
    .union([tokens, z.literal("off")])
    .exactOptional()
    .describe("Instead of `results.maxTokens`, for its tools; `off`: no budget."),
  tools: z
    .record(z.string().min(1), z.union([tokens, z.literal("off")]))
    .exactOptional()
    .describe("The same for single tools, by the server's own names."),
  keep: duration("Instead of `results.keep`, for its results.").exactOptional(),
  maxBytes: bytes
    .exactOptional()
    .describe(
      "How much of its results is kept for one principal, in bytes. Default: what the principal has in all.",
    ),
});

/** The settings at the top level. */
export interface ResultsSettings {
  /** Undefined: only servers and tools that say so have a budget. */
  readonly maxTokens: number | undefined;
  readonly keepMs: number;
  /** Of all principals together. */
  readonly maxBytes: number;
}

/** Those of a server; undefined members are as at the top level. */
export interface ServerResultsSettings {
  readonly maxTokens: number | "off" | undefined;
  readonly tools: Readonly<Record<string, number | "off">>;
  readonly keepMs: number | undefined;
  /** Of one principal. */
  readonly maxBytes: number | undefined;
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly results?: ResultsSettings;
  }
  interface ServerFeatureSettings {
    readonly results?: ServerResultsSettings;
  }
}

/** Whether a server's own section gives some tool a budget. */
export const hasOwnBudget = ({ maxTokens, tools }: ServerResultsSettings): boolean =>
  typeof maxTokens === "number" || Object.values(tools).some((own) => own !== "off");

const OWN: OwnToolNames = { names: [READ_RESULT], setting: "results" };

const section = sectionOf({
  path: "results",
  schema: schema
    .exactOptional()
    .describe("Budgets of results, and how long large ones are kept (`docs/results.md`)."),
  change: "reload",
  complete: ({ maxTokens, keep, maxBytes }): ResultsSettings => ({
    maxTokens,
    keepMs: parseDuration(keep ?? DEFAULT_KEEP) ?? 0,
    maxBytes,
  }),
  ownTools: ({ maxTokens }) => (maxTokens === undefined ? undefined : OWN),
});

const serverSection = sectionOf({
  of: "server",
  path: "results",
  schema: ofServer.exactOptional().describe("Budgets of its results (`docs/results.md`)."),
  change: "reload",
  complete: ({ maxTokens, tools = {}, keep, maxBytes }): ServerResultsSettings => ({
    maxTokens,
    tools,
    keepMs: keep === undefined ? undefined : parseDuration(keep),
    maxBytes,
  }),
  ownTools: (settings) => (hasOwnBudget(settings) ? OWN : undefined),
});

/** Both of them. */
export const SECTIONS = [section, serverSection];

/** The settings of a config without the section. */
export const DEFAULTS: ResultsSettings = {
  maxTokens: undefined,
  keepMs: parseDuration(DEFAULT_KEEP) ?? 0,
  maxBytes: DEFAULT_BYTES,
};
