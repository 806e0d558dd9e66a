/** Budgets of results: hosts get a preview of a large one, and read the whole in pages (`results`, docs/results.md). */
import type { Feature } from "../../cli/feature.js";
import type { LayeredServer, OpenFeature, SettingsOfFeatures } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { KEPT_BYTES, TOKENS_SAVED } from "./metrics.js";
import { explainedLines } from "./words.js";

/** Always there: a reload may add budgets. Without one it adds no layer. */
export const results: Feature = {
  name: "results",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  gauges: [KEPT_BYTES],
  counters: [TOKENS_SAVED],
  explainedLines,
  async loadAdmin() {
    const { PAGE, SUMS_PAGE } = await import("./admin.js");
    return { pages: [PAGE, SUMS_PAGE], actions: [] };
  },
  open: async (_, { logger }) => openResults(logger),
};

async function openResults(logger: Logger): Promise<OpenFeature> {
  const [
    { served },
    { PAGE, rowsOf, SUMS_PAGE, sumsOf },
    { Budgets },
    { KeptResults },
    { DEFAULTS },
    { SavedTokens },
  ] = await Promise.all([
    import("../../core/admin-page.js"),
    import("./admin.js"),
    import("./budgets.js"),
    import("./kept-results.js"),
    import("./section.js"),
    import("./metrics.js"),
  ]);
  const [{ budgetedLists }, { keepLargeResults }, { LargeResults }, { resultIn }] = await Promise.all([
    import("./lists.js"),
    import("./keep-large-results.js"),
    import("./large-results.js"),
    import("./reading/read-arguments.js"),
  ]);
  const kept = new KeptResults(DEFAULTS.maxBytes);
  const saved = new SavedTokens();
  const large = new LargeResults();
  const budgetsOf = (config: Pick<SettingsOfFeatures, "servers" | "features">) => new Budgets(config);
  return {
    name: "results",
    attach({ issuer }) {
      kept.issuer = issuer;
    },
    issuedIn: resultIn,
    lists(config) {
      const budgets = budgetsOf(config);
      return budgets.isEmpty ? undefined : budgetedLists(budgets, kept);
    },
    callLayers(_servers: readonly LayeredServer[], config) {
      const budgets = budgetsOf(config);
      kept.limit(budgets.settings.maxBytes);
      return budgets.isEmpty
        ? {}
        : { reply: keepLargeResults({ budgets, kept, logger, onSaved: saved.add }) };
    },
    explained({ route, definition }, config) {
      const budget = budgetsOf(config).of(route.upstream, route.target);
      if (budget === undefined) return {};
      const hidesSchema = definition !== undefined && Object.hasOwn(definition, "outputSchema");
      return { definition: { resultBudget: { characters: budget.characters, hidesSchema } } };
    },
    savings: async (_tools, config) => large.savings(budgetsOf(config)),
    onRecord: (_record, call, reply) => large.called(call, reply),
    onEvent({ kind, outcome, principal, server }) {
      if (kind === "sign_in" && outcome === "signed_out" && principal !== undefined)
        kept.signedOut(principal, server);
    },
    releaseClient: (affinity) => kept.releaseClient(affinity),
    readings: [{ gauge: KEPT_BYTES, read: () => kept.bytes }],
    counterReadings: [saved.reading],
    pages: [served(PAGE, () => rowsOf(kept)), served(SUMS_PAGE, () => sumsOf(kept))],
    async close() {
      kept.close();
    },
  };
}
