/** The shape of `policy` and `limits` in the config: who may do what, and how often. */
import { z } from "zod";
import { duration, globs } from "./server-schema.js";
import { parseRate } from "./units.js";

const nonEmptyStrings = z.array(z.string().min(1));

/** What a rule or a limit is about. */
const matcherKeys = {
  on: z
    .enum(["call", "sampling", "elicitation", "roots"])
    .default("call")
    .describe("What it is about: calls of hosts, or one kind of question that a server asks its host."),
  tools: globs
    .exactOptional()
    .describe(
      "Globs over exposed tool names. Where `tools`, `prompts`, `resources` or `methods` is given, the kinds that are not are left alone; where none is, it is about all of them.",
    ),
  prompts: globs.exactOptional().describe("Globs over exposed prompt names."),
  resources: globs
    .exactOptional()
    .describe("Globs over exposed URIs and URI templates, in every way in which they can be read."),
  methods: globs
    .exactOptional()
    .describe(
      "Globs over methods that have no target of their own: those of vendors and extensions, such as `ops/*`, and `tasks/list` and `skills/list`.",
    ),
  servers: globs.exactOptional().describe("Globs over the servers' keys."),
  principals: globs.exactOptional().describe("Globs over the ids of principals."),
  groups: nonEmptyStrings.exactOptional().describe("The principal must be in one of these groups."),
  scopes: nonEmptyStrings.exactOptional().describe("The principal's token must have all of these scopes."),
  annotations: z
    .record(z.string().min(1), z.boolean())
    .exactOptional()
    .describe(
      "What a tool must say of itself, such as `readOnlyHint: true`. A tool that says nothing counts as the specification has it: not read-only, destructive, not idempotent, open-world.",
    ),
};

const redaction = z.strictObject({
  paths: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Members to take out, by their dotted path; `*` is any member or element: `users.*.token`. Those below `structuredContent` go out of texts that hold the same as JSON, too.",
    ),
  patterns: z
    .array(z.string().min(1).max(1_024))
    .default([])
    .describe("RE2 patterns; what they match in any text, number or name of a member is taken out."),
});

const redact = z.strictObject({
  arguments: redaction
    .prefault({})
    .describe(
      "What the server does not get to see: in arguments, those that are completed, `Mcp-Param-*` headers and answers to questions.",
    ),
  results: redaction
    .prefault({})
    .describe(
      "What the host does not get to see: in results, errors, questions, tasks, progress and log messages.",
    ),
  replacement: z.string().max(64).default("[redacted]").describe("What stands there instead."),
});

const rule = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .exactOptional()
    .describe("What refusals, metrics and decisions call it. Default: `rule-N`, with its place in the list."),
  ...matcherKeys,
  when: z
    .string()
    .min(1)
    .max(4_096)
    .exactOptional()
    .describe(
      "A CEL expression that must be true: over `tool`, `server`, `target`, `args`, `principal` (`id`, `groups`, `claims`), `annotations` and, for questions of servers, `request`. A member that is not there is null.",
    ),
  effect: z
    .enum(["allow", "deny", "approve", "redact", "hide"])
    .describe(
      "`allow` and `deny` let through and refuse; `approve` asks the person at the host first; `redact` lets through without what `redact` names; `hide` makes it as if it were not there.",
    ),
  message: z
    .string()
    .min(1)
    .max(1_024)
    .exactOptional()
    .describe("What the refused caller, or the person who is asked, is told."),
  remember: duration(
    "With `approve`: how long the same call of the same principal is not asked about again.",
  ).exactOptional(),
  redact: redact.exactOptional().describe("With `redact`: what to take out."),
  maxTokens: z
    .int()
    .min(1)
    .exactOptional()
    .describe("With `on: sampling`: the most tokens a server may ask for; more is cut to it."),
  stripContext: z
    .boolean()
    .exactOptional()
    .describe("With `on: sampling`: whether `includeContext` is taken out of what the host is asked."),
  maxRounds: z
    .int()
    .min(1)
    .exactOptional()
    .describe("With `on`: how many rounds of questions one call may take; what is asked later is refused."),
});

/** The zod schema of `policy`. */
export const policySchema = z.strictObject({
  default: z.enum(["allow", "deny"]).default("allow").describe("What happens when no rule matches."),
  rules: z
    .array(rule.meta({ id: "rule" }))
    .default([])
    .describe("In order; the first rule that matches decides."),
});

const rateText = (sentence: string) =>
  z
    .string()
    .refine((text) => parseRate(text) !== undefined, {
      error: 'must be a rate such as "10/s", "100/min", "1000/h" or "10000/day"',
    })
    .meta({ pattern: "^\\d+/(s|min|h|day)$|\\$\\{" })
    .exactOptional()
    .describe(sentence);

const limit = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .exactOptional()
    .describe("What refusals and metrics call it. Default: `limit-N`, with its place in the list."),
  ...matcherKeys,
  rate: rateText("How many calls may start in a time, spread evenly: what is used up comes back bit by bit."),
  burst: z
    .int()
    .min(1)
    .exactOptional()
    .describe("How many may start at once. Default: as many as the rate counts."),
  quota: rateText(
    "How many calls may start in a time that begins with the first one, and never more; then it begins anew.",
  ),
  concurrency: z.int().min(1).exactOptional().describe("How many may run at the same time."),
  queue: z
    .int()
    .min(0)
    .exactOptional()
    .describe("With `concurrency`: how many may wait for their turn; more are refused. Default: 100."),
  timeout: duration(
    "How long one may go without a sign of life, instead of the server's `timeout`; of several the shortest.",
  ).exactOptional(),
  per: z
    .enum(["principal", "session", "server", "tool", "all"])
    .default("all")
    .describe("Who shares it. `session` means the principal where a host has no session."),
});

/** The zod schema of `limits`. */
export const limitsSchema = z.array(limit.meta({ id: "limit" }));

/** `policy` as the file has it. */
export type PolicyShape = z.infer<typeof policySchema>;
/** One of `limits` as the file has it. */
export type LimitShape = z.infer<typeof limit>;
