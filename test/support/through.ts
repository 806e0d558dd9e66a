/** Whether this run of the tests calls tools through `call_tool`. The projects of `vitest.config.ts` decide it. */

import { Snapshot } from "../../src/catalog/view.js";
import type { Call, Handler, Middleware, Route } from "../../src/core/call.js";
import type { AwaitedTools, ListTransform } from "../../src/core/list-transform.js";
import { openedFeatures } from "./features.js";

const CALL_TOOL = "call_tool";

/** The second run of a test, in which its hosts call everything through `call_tool`. */
export const THROUGH_CALL_TOOL = process.env.CARDEA_TEST_THROUGH === CALL_TOOL;

const SETTINGS = { tools: { exposure: "auto", pinned: [], autoThreshold: 10_000_000 } } as const;

/** The config for it. The lists of tools are unchanged. */
export const EXPOSURE: object = THROUGH_CALL_TOOL ? SETTINGS : {};

/** What the gateway makes of calls with this config. */
async function transform(): Promise<ListTransform> {
  const open = await openedFeatures({ features: SETTINGS });
  const [lists] = open.flatMap(
    (feature) => feature.lists?.({ servers: [], features: SETTINGS, profiles: {} }) ?? [],
  );
  if (lists === undefined) throw new Error(`no feature of this build has ${CALL_TOOL}`);
  return lists;
}

const TRANSFORM = THROUGH_CALL_TOOL ? await transform() : undefined;

/** The stacks of these tests have no catalog. */
const NOTHING = new Snapshot("tools", []);
const CATALOG: AwaitedTools = {
  toolsOf: () => ({ tools: NOTHING, whole: NOTHING }),
  facts: () => undefined,
  serversFor: () => [],
  isTransparent: () => false,
  prepareLists: () => Promise.reject(new Error("nothing is searched for here")),
  get latest() {
    return CATALOG;
  },
};

/** The same handler for calls that tests make of a tool by its name: in the second run they come through `call_tool`. */
export function throughCallTool(handle: Handler): Handler {
  if (TRANSFORM === undefined) return handle;
  // The route that the test says is found again by the call.
  const routes = new Map<number, Route | undefined>();
  const located: Middleware = (next) => (call) => {
    const route = routes.get(call.id);
    routes.delete(call.id);
    return next(route === undefined ? call : { ...call, route });
  };
  const unwrap = TRANSFORM.layer({ catalog: CATALOG, own: (next) => next, limited: (next) => next });
  const unwrapped = unwrap(located(handle));
  return (call) => {
    if (call.method !== "tools/call" || typeof call.params.name !== "string") return handle(call);
    routes.set(call.id, call.route);
    return unwrapped(wrapped(call));
  };
}

function wrapped({ route: _, ...call }: Call): Call {
  const { name, arguments: args, ...params } = call.params;
  const inner = { name, ...(args !== undefined && { arguments: args }) };
  return { ...call, params: { ...params, name: CALL_TOOL, arguments: inner } };
}
