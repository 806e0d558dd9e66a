/** What budgets make of the lists of tools: `read_result`, and tools without an output schema that a preview would break. */
import type { Middleware } from "../../core/call.js";
import type { ExposedItem, ListTransform } from "../../core/list-transform.js";
import { stringAt, without } from "../../wire/json.js";
import type { Budgets } from "./budgets.js";
import type { KeptResults } from "./kept-results.js";
import {
  isResultUri,
  READ_RESOURCE_ROUTE,
  READ_RESULT,
  READ_RESULT_TOOL,
  READ_TOOL_ROUTE,
} from "./own-tool.js";
import { readResource, readTool } from "./reading/read-result.js";

const OWN_ENTRY: ExposedItem = { route: READ_TOOL_ROUTE, item: READ_RESULT_TOOL };

/** The transform of a config in which some tool has a budget. */
export function budgetedLists(budgets: Budgets, kept: KeptResults): ListTransform {
  /** Keyed by the list that each replaces, so that equal lists share text and version. */
  const lists = new WeakMap<readonly ExposedItem[], readonly ExposedItem[]>();
  const items = new WeakMap<ExposedItem, ExposedItem>();

  /** Hosts refuse a result without the structure that a schema promises, and a large one is withheld. */
  function withoutSchema(entry: ExposedItem): ExposedItem {
    const { route, item } = entry;
    if (!Object.hasOwn(item, "outputSchema") || budgets.of(route.upstream, route.target) === undefined)
      return entry;
    let shown = items.get(entry);
    if (shown === undefined) {
      shown = { route, item: without(item, ["outputSchema"]) };
      items.set(entry, shown);
    }
    return shown;
  }

  return {
    entries(_client, _tools, _source, listed) {
      if (listed.length === 0) return listed;
      let shown = lists.get(listed);
      if (shown === undefined) {
        shown = [...listed.map(withoutSchema), OWN_ENTRY];
        lists.set(listed, shown);
      }
      return shown;
    },
    isPerHost: () => false,
    introduce: () => ({
      text: undefined,
      isInstead: false,
      hasOwnTools: false,
      hasOwnResources: true,
    }),
    ownTool: (_client, name) => (name === READ_RESULT ? READ_RESULT_TOOL : undefined),
    layer: ({ own, limited }) => readKept(own(limited(readTool(kept))), own(limited(readResource(kept)))),
    close: () => {},
  };
}

/** Reads of kept results reach no server. */
const readKept =
  (tool: ReturnType<Middleware>, resource: ReturnType<Middleware>): Middleware =>
  (next) =>
    function readKept(call) {
      const { method, params } = call;
      if (method === "tools/call" && params.name === READ_RESULT)
        return tool({ ...call, route: READ_TOOL_ROUTE });
      if (method === "resources/read" && isResultUri(stringAt(params, "uri") ?? ""))
        return resource({ ...call, route: READ_RESOURCE_ROUTE });
      return next(call);
    };
