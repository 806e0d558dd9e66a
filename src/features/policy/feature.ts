/** Rules, limits and approvals for calls of hosts and questions of servers (`policy`, `limits`, docs/policy.md). */
import type { Feature, FeaturedConfig } from "../../cli/feature.js";
import { COUNTERS, OPEN_APPROVALS, RULE_MATCHES } from "./metrics.js";

/** Always there: a reload may bring the first rule. */
export const policy: Feature = {
  name: "policy",
  async loadSections() {
    const { policySection, limitsSection } = await import("./section.js");
    return [policySection, limitsSection];
  },
  counters: [...COUNTERS, RULE_MATCHES],
  gauges: [OPEN_APPROVALS],
  loadAdmin: async () => (await import("./admin-pages.js")).ADMIN,
  async open(_, { logger, redact }) {
    const { openPolicy } = await import("./open-policy.js");
    return openPolicy(logger, redact);
  },
  /** Each process counts separately, so N of them would allow N times the limit. */
  singleProcess({ features: { limits = [] } }) {
    const counting = limits.find(
      ({ rate, quota, concurrency }) =>
        rate !== undefined || quota !== undefined || concurrency !== undefined,
    );
    if (counting === undefined) return undefined;
    const message = `the limit "${counting.name}" counts calls, which workers cannot do together: serve without --workers, or remove the limit`;
    return { path: ["limits"], message };
  },
  async advise(config) {
    if (!hasRules(config)) return [];
    return (await import("./rules/advice.js")).policyAdvice(config);
  },
  async ineffective(config, names) {
    if (!hasRules(config)) return [];
    return (await import("./ineffective.js")).ineffectiveRules(config, names);
  },
};

const hasRules = ({ features: { policy: rules, limits } }: FeaturedConfig): boolean =>
  rules !== undefined || limits !== undefined;
