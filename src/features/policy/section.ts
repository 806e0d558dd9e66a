/** The sections `policy` and `limits`. */
import { countChange } from "../../config/changes.js";
import { sectionOf } from "../../config/section.js";
import { completeLimits, completePolicy, exposedLimits, exposedPolicy } from "./complete.js";
import type { PolicyConfig, PolicySettings } from "./config.js";
import { limitsSchema, policySchema } from "./schema.js";

export const policySection = sectionOf({
  path: "policy",
  after: "keys",
  schema: policySchema.exactOptional().describe("Access rules for calls of hosts and questions of servers."),
  change: "reload",
  complete: completePolicy,
  exposed: (policy, _, exposeOf) => exposedPolicy(policy, exposeOf),
  secretsOf: (policy) => receiversOf(policy).flatMap(({ notify }) => notify.secret ?? []),
  warningsOf: ({ features: { policy } }) => (policy === undefined ? [] : warningsOfNotices(policy)),
  check: async (policy) => (await import("./faults.js")).faultsOfRules(policy),
  changes: (before, now) => [
    ...countChange("policy rules", before?.rules ?? [], now?.rules ?? []),
    ...(defaultOf(before) === defaultOf(now) ? [] : [`policy.default: ${defaultOf(now)}`]),
  ],
});

export const limitsSection = sectionOf({
  path: "limits",
  after: "policy",
  schema: limitsSchema
    .exactOptional()
    .describe("Rate limits, quotas, concurrency limits and timeouts; every matching one applies."),
  change: "reload",
  complete: completeLimits,
  exposed: (limits, _, exposeOf) => exposedLimits(limits, exposeOf),
  check: async (limits, { policy }: PolicySettings) =>
    (await import("./faults.js")).faultsOfLimits(limits, policy),
  changes: (before = [], now = []) => countChange("limits", before, now),
});

/** Who gets notices, with the path of that key. */
const receiversOf = ({ notify, rules }: PolicyConfig) => [
  ...(notify === undefined ? [] : [{ notify, path: ["policy", "notify"] }]),
  ...rules.flatMap((rule, at) =>
    rule.notify === undefined || rule.notify === notify
      ? []
      : [{ notify: rule.notify, path: ["policy", "rules", at, "notify"] }],
  ),
];

function warningsOfNotices(policy: PolicyConfig) {
  const unsigned = receiversOf(policy).filter(({ notify }) => notify.secret === undefined);
  const isUnused =
    policy.notify !== undefined && !policy.rules.some(({ notify }) => notify === policy.notify);
  return [
    ...unsigned.map(({ path }) => ({
      path,
      message: "it has no secret: its receiver cannot tell the notices of this gateway from those of others",
    })),
    ...(isUnused
      ? [{ path: ["policy", "notify"], message: "no rule has approvers of which it could tell" }]
      : []),
  ];
}

const defaultOf = (policy: PolicyConfig | undefined): string => policy?.default ?? "allow";
