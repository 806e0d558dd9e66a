/** Rules, limits and approvals for calls of hosts and questions of servers (`policy`, `limits`). */
import type { Feature } from "../../cli/feature.js";
import { COUNTERS } from "./metrics.js";

/** Always there: a reload may bring the first rule. */
export const policy: Feature = {
  name: "policy",
  counters: COUNTERS,
  loadAdmin: async () => (await import("./admin-pages.js")).ADMIN,
  async open(_, { logger, redact }) {
    const { openPolicy } = await import("./open-policy.js");
    return openPolicy(logger, redact);
  },
};
