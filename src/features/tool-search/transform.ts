/** What tool search makes of the tools of one config: shorter lists, two tools of the gateway itself, and an overview. */

import type { ListTransform } from "../../core/list-transform.js";
import type { Exposures } from "./exposure.js";
import { findTools, serversOf } from "./find-tools.js";
import type { SearchMetrics } from "./metrics.js";
import { isSearchTool, SEARCH_TOOLS } from "./own-tools.js";
import { searchTools } from "./search-layer.js";
import { toolOverview } from "./tool-overview.js";
import type { ToolSearch } from "./tool-search.js";

/** What the transform is made of. */
export interface SearchedListsOptions {
  readonly exposures: Exposures;
  readonly search: ToolSearch;
  readonly metrics: SearchMetrics;
}

/** The transform of one config. */
export const searchedLists = ({ exposures, search, metrics }: SearchedListsOptions): ListTransform => ({
  entries(client, tools, source, listed) {
    const exposure = exposures.of(client.endpoint);
    if (exposure.of(client, tools) === "full") return listed;
    search.prepare(source.toolsOf(client), source);
    return exposure.short(tools);
  },
  isPerHost: (endpoint) => exposures.of(endpoint).isPerHost,
  reach: (client, tools) =>
    exposures.of(client.endpoint).of(client, tools) === "full" ? undefined : serversOf(tools).join(),
  introduce(client, tools, source) {
    const access = exposures.of(client.endpoint).access(client, tools);
    if (access === "listed") return undefined;
    // The instructions of one server may already be longer than a model should read; a host that defers definitions
    // searches these texts.
    const isInstead = access === "search";
    return {
      text: toolOverview(tools, source.serversFor(client), !isInstead),
      isInstead,
      hasOwnTools: isInstead,
    };
  },
  ownTool: ({ endpoint }, name) =>
    isSearchTool(name) && exposures.of(endpoint).hasSearch ? SEARCH_TOOLS[name] : undefined,
  layer: ({ catalog, own, limited }) =>
    searchTools({
      hasSearch: ({ endpoint }) => exposures.of(endpoint).hasSearch,
      nearest: (client, query, limit) => search.find(catalog.toolsOf(client), { query, limit }, catalog),
      own,
      find: limited(findTools({ catalog, search, onSearch: metrics.searched })),
    }),
  onRecord: metrics.called,
  close: () => search.close(),
});
