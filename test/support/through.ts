/** Whether this run of the tests calls tools through `call_tool`. The projects of `vitest.config.ts` decide it. */

import type { Call, Handler, Middleware, Route } from "../../src/core/call.js";
import { CALL_TOOL } from "../../src/core/search-tools.js";
import { searchTools } from "../../src/routing/search-tools.js";

/** The second run of a test, in which its hosts call everything through `call_tool`. */
export const THROUGH_CALL_TOOL = process.env.CARDEA_TEST_THROUGH === CALL_TOOL;

/** The config for it. The lists of tools are unchanged. */
export const EXPOSURE: object = THROUGH_CALL_TOOL
  ? { tools: { exposure: "auto", autoThreshold: 10_000_000 } }
  : {};

/** The same handler for calls that tests make of a tool by its name: in the second run they come through `call_tool`. */
export function throughCallTool(handle: Handler): Handler {
  if (!THROUGH_CALL_TOOL) return handle;
  // The stacks of these tests have no catalog: the route that the test says is found again by the call.
  const routes = new Map<number, Route | undefined>();
  const located: Middleware = (next) => (call) => {
    const route = routes.get(call.id);
    routes.delete(call.id);
    return next(route === undefined ? call : { ...call, route });
  };
  const catalog = { hasSearch: () => true, findTools: async () => ({ entries: [], total: 0 }) };
  const find: Handler = () => Promise.reject(new Error("nothing is searched for here"));
  const unwrap = searchTools({ catalog, own: (next) => next, find });
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
