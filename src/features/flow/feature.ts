/** Rules about what one conversation does in several calls: private data, untrusted content, and a tool that sends (`policy.flow`, docs/flow.md). */
import type { Feature } from "../../cli/feature.js";
import { DECISIONS } from "./metrics.js";

/** Always there: a reload may bring the first label. */
export const flow: Feature = {
  name: "flow",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  counters: [DECISIONS],
  async open(_, { logger }) {
    const { openFlow } = await import("./open-feature.js");
    return openFlow(logger);
  },
  async advise(config) {
    if (config.features["policy.flow"] === undefined) return [];
    return (await import("./advice.js")).flowAdvice(config);
  },
  explainedLines({ flow: explained }) {
    if (explained === undefined) return {};
    const { labels, touched } = explained as ExplainedFlow;
    const before = Object.entries(touched).map(([label, names]) => `${label} (${names.join(", ")})`);
    return {
      list: [
        `its labels: ${labels.length === 0 ? "none" : labels.join(", ")}`,
        ...(before.length === 0 ? [] : [`touched before it: ${before.join(", ")}`]),
      ],
    };
  },
};

/** What `explain` has of it. */
interface ExplainedFlow {
  readonly labels: readonly string[];
  readonly touched: Readonly<Record<string, readonly string[]>>;
}
