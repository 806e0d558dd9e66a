/** The schema of `policy` and `limits`. */
import { z } from "zod";
import { duration } from "../../config/duration-schema.js";
import { globs } from "../../config/server-schema.js";
import { parseRate } from "../../config/units.js";
import { webhookKeys } from "../../config/webhook-schema.js";
import { DETECTED_KINDS } from "./detect/detector.js";

const nonEmptyStrings = z.array(z.string().min(1));

/** The matcher of a rule or limit. */
const matcherKeys = {
  on: z
    .enum(["call", "sampling", "elicitation", "roots"])
    .default("call")
    .describe("What it applies to: calls of hosts, or one kind of question of servers."),
  tools: globs
    .exactOptional()
    .describe(
      "Globs over exposed tool names. With any of `tools`, `prompts`, `resources` and `methods` it applies to the given kinds only; with none of them to all.",
    ),
  prompts: globs.exactOptional().describe("Globs over exposed prompt names."),
  resources: globs
    .exactOptional()
    .describe("Globs over exposed URIs and URI templates, evaluated for every reading of a URI."),
  methods: globs
    .exactOptional()
    .describe(
      "Globs over methods without a target: those of vendors and extensions, such as `ops/*`, and `tasks/list` and `skills/list`.",
    ),
  servers: globs.exactOptional().describe("Globs over the servers' keys."),
  principals: globs.exactOptional().describe("Globs over principal ids."),
  groups: nonEmptyStrings.exactOptional().describe("The principal must be in one of these groups."),
  scopes: nonEmptyStrings.exactOptional().describe("The principal's token must have all of these scopes."),
  annotations: z
    .record(z.string().min(1), z.boolean())
    .exactOptional()
    .describe(
      "Annotations that a tool must have, such as `readOnlyHint: true`. Missing ones have the defaults of the specification: not read-only, destructive, not idempotent, open-world.",
    ),
};

const redaction = z.strictObject({
  paths: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Dotted paths of members to redact; `*` is any member or element: `users.*.token`. Paths below `structuredContent` also apply to texts with the same JSON.",
    ),
  patterns: z
    .array(z.string().min(1).max(1_024))
    .default([])
    .describe("RE2 patterns; matches in any text, number or member name are redacted."),
});

const redact = z.strictObject({
  arguments: redaction
    .prefault({})
    .describe(
      "Redacts what goes to the server: arguments, completed arguments, `Mcp-Param-*` headers, answers to questions.",
    ),
  results: redaction
    .prefault({})
    .describe("Redacts what goes to the host: results, errors, questions, tasks, progress and log messages."),
  detect: z
    .array(z.enum(DETECTED_KINDS))
    .min(1)
    .exactOptional()
    .describe(
      "What to find without a pattern, in both directions and in questions: tokens, keys and passwords (`secrets`), e-mail addresses, numbers of cards and accounts with right check digits, phone numbers.",
    ),
  replacement: z.string().max(64).default("[redacted]").describe("The replacement text."),
});

const CONSOLE_PATTERN = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/;

const notify = z.strictObject({
  ...webhookKeys("notices of approvals"),
  console: z
    .string()
    .regex(CONSOLE_PATTERN, { error: 'must be a URL such as "https://cardea-admin.example.com"' })
    .meta({ pattern: `${CONSOLE_PATTERN.source}|\\$\\{` })
    .exactOptional()
    .describe(
      "Where approvers reach the console, for the link in notices. Default: where this process listens for operators.",
    ),
});

const rule = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .exactOptional()
    .describe("Its name in refusals, metrics and decisions. Default: `rule-N`, by its position."),
  ...matcherKeys,
  when: z
    .string()
    .min(1)
    .max(4_096)
    .exactOptional()
    .describe(
      "A CEL expression that must be true: over `tool`, `server`, `target`, `args`, `principal` (`id`, `groups`, `claims`), `annotations` and, for questions of servers, `request`. A missing member is null.",
    ),
  effect: z
    .enum(["allow", "deny", "approve", "redact", "hide"])
    .describe(
      "`allow`; `deny` refuses; `approve` asks a person at the host first; `redact` allows with what `redact` names removed; `hide` answers as for an unknown name.",
    ),
  message: z
    .string()
    .min(1)
    .max(1_024)
    .exactOptional()
    .describe("The text for the refused caller, or for the person who approves."),
  remember: duration(
    "With `approve`: how long an approval holds for the same call of the same principal.",
  ).exactOptional(),
  approvers: nonEmptyStrings
    .min(1)
    .exactOptional()
    .describe(
      "With `approve`: who decides in place of the caller, by principal id or as `group:NAME`: in the console or by the admin API. Nobody decides a call of their own.",
    ),
  approvalTimeout: duration(
    "With `approvers`: how long a call waits for a decision. Default: that of `policy`.",
  ).exactOptional(),
  notify: notify
    .exactOptional()
    .describe(
      "With `approvers`: who gets notices of its approvals, when one opens and when it ends. Default: that of `policy`.",
    ),
  redact: redact.exactOptional().describe("With `redact`: what to remove."),
  maxTokens: z
    .int()
    .min(1)
    .exactOptional()
    .describe("With `on: sampling`: the maximum of `maxTokens`; a larger value is reduced to it."),
  stripContext: z
    .boolean()
    .exactOptional()
    .describe("With `on: sampling`: whether `includeContext` is removed from the request."),
  maxRounds: z
    .int()
    .min(1)
    .exactOptional()
    .describe("With `on`: the maximum number of rounds of questions per call; later ones are refused."),
});

/** The zod schema of `policy`. */
export const policySchema = z.strictObject({
  default: z
    .enum(["allow", "deny", "hide"])
    .default("allow")
    .describe(
      "The effect when no rule matches. With `hide`, what no rule matches is in no list, and a call of it is answered as for an unknown name; questions of servers are refused.",
    ),
  approvalTimeout: duration(
    "How long a call waits for the decision of an approver, where its rule does not say.",
  ).default("10m"),
  notify: notify
    .exactOptional()
    .describe(
      "Who gets notices of approvals by other persons, where their rule does not say: a chat, or a system of tickets. Default: there are none.",
    ),
  rules: z
    .array(rule.meta({ id: "rule" }))
    .default([])
    .describe("Access rules in order; the first match decides."),
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
    .describe("Its name in refusals and metrics. Default: `limit-N`, by its position."),
  ...matcherKeys,
  rate: rateText("Rate limit (token bucket): calls per time, refilled continuously."),
  burst: z
    .int()
    .min(1)
    .exactOptional()
    .describe("The size of the token bucket. Default: the count of the rate."),
  quota: rateText("Calls per fixed window; a window begins with the first call after the last one ended."),
  concurrency: z.int().min(1).exactOptional().describe("The maximum number of concurrent calls."),
  queue: z
    .int()
    .min(0)
    .exactOptional()
    .describe(
      "With `concurrency`: the maximum length of the queue; further calls are refused. Default: 100.",
    ),
  timeout: duration(
    "Idle timeout of a call, in place of the server's `timeout`; of several the shortest applies.",
  ).exactOptional(),
  per: z
    .enum(["principal", "session", "server", "tool", "all"])
    .default("all")
    .describe("Which calls share it. `session` means the principal where a host has no session."),
});

/** The zod schema of `limits`. */
export const limitsSchema = z.array(limit.meta({ id: "limit" }));

/** `policy` as the file has it. */
export type PolicyShape = z.infer<typeof policySchema>;
/** One of `limits` as the file has it. */
export type LimitShape = z.infer<typeof limit>;
