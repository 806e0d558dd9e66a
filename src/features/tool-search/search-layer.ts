/** Where do calls of `find_tools` and `call_tool` go? To the search, and on to the tool that they name. */

import type { Call, Handler, Middleware, Reply } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { unwrapCall } from "./call-tool.js";
import { CALL_TOOL, FIND_TOOLS, isSearchTool, SEARCH_ROUTES } from "./own-tools.js";
import type { FoundTools } from "./tool-search.js";

/** What the search tools are made of. */
export interface SearchToolsOptions {
  /** Whether a client may use them. */
  readonly hasSearch: (client: Pick<Client, "endpoint">) => boolean;
  /** The tools that a client sees whose names are like this one, the nearest first. */
  readonly nearest: (client: Client, name: string, limit: number) => Promise<FoundTools>;
  /** Log, metrics and error replies of a call that the gateway answers itself. */
  readonly own: Middleware;
  /** Answers `find_tools`. */
  readonly find: Handler;
}

/** How many names the error for an unknown tool says. */
const MAX_NEAREST = 3;

/**
 * Stands before everything that depends on the target of a call: what follows sees the call of the true tool, so that its
 * rules, limits and state are those of that tool.
 */
export function searchTools({ hasSearch, nearest, own, find }: SearchToolsOptions): Middleware {
  const answer = own(find);
  const refuse = (call: Call, error: GatewayError): Promise<Reply> =>
    own(() => Promise.reject(error))({ ...call, route: SEARCH_ROUTES[CALL_TOOL] });

  return (next) =>
    function searchTools(call) {
      const { method, params, client } = call;
      if (method !== "tools/call" || typeof params.name !== "string" || !isSearchTool(params.name)) {
        return next(call);
      }
      if (!hasSearch(client)) return next(call);
      if (params.name === FIND_TOOLS) return answer({ ...call, route: SEARCH_ROUTES[FIND_TOOLS] });
      const unwrapped = unwrapCall(call);
      return unwrapped instanceof GatewayError
        ? refuse(call, unwrapped)
        : next(unwrapped).then((reply) => withNearestNames(unwrapped, reply));
    };

  /** A tool that is hidden from the client and one that does not exist get the same names: those of tools that it may see. */
  async function withNearestNames({ params, client }: Call, reply: Reply): Promise<Reply> {
    if (reply.kind !== "error" || reply.refusal !== "unknown_target") return reply;
    const query = String(params.name);
    const { entries } = await nearest(client, query, MAX_NEAREST + 1);
    const names = entries
      .map(({ route }) => route.exposed)
      .filter((name) => name !== query)
      .slice(0, MAX_NEAREST);
    const hint =
      names.length === 0 ? `; ${FIND_TOOLS} says which there are` : `; the nearest are ${names.join(", ")}`;
    return { ...reply, error: { ...reply.error, message: `${reply.error.message}${hint}` } };
  }
}
