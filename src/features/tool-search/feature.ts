/** Tool search: hosts list two tools, with which models find and call all others (docs/search.md). */
import type { Feature } from "../../cli/feature.js";
import type { OpenFeature, RunningGateway } from "../../core/feature.js";
import { COUNTERS } from "./counters.js";
import { ALL_HELP, explainedLines, findHint } from "./words.js";

/** Always there: a reload may turn it on. */
export const toolSearch: Feature = {
  name: "tool-search",
  loadSections: async () => (await import("./section.js")).SECTIONS,
  shortLists: { allHelp: ALL_HELP, hint: findHint },
  counters: COUNTERS,
  explainedLines,
  open: async () => openToolSearch(),
};

async function openToolSearch(): Promise<OpenFeature> {
  const [
    { Exposures },
    { SearchMetrics },
    { ToolSearch },
    { searchedLists },
    { explainedTool, searchSaving },
  ] = await Promise.all([
    import("./exposure.js"),
    import("./metrics.js"),
    import("./tool-search.js"),
    import("./transform.js"),
    import("./advice.js"),
  ]);
  const search = new ToolSearch();
  let gateway: RunningGateway | undefined;
  const metrics = new SearchMetrics((counter, labels) => gateway?.count(counter, labels));
  return {
    name: "tool-search",
    lists(config) {
      const exposures = new Exposures(config);
      return exposures.hasSearch ? searchedLists({ exposures, search, metrics }) : undefined;
    },
    counters: COUNTERS,
    attach(running) {
      gateway = running;
    },
    explained: explainedTool,
    savings: searchSaving,
    async close() {
      search.close();
    },
  };
}
