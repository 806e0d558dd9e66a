/** Why a call would be let through or not, for `GET /api/v1/explain` and for people who write rules. */
import { BadQuery } from "./admin/pages.js";
import { nextCallId } from "./core/call.js";
import type { Client } from "./core/client.js";
import type { Inside } from "./inside.js";
import type { Explanation } from "./policy/policy.js";
import { withGivenArguments } from "./routing/given-arguments.js";
import { isObject, type JsonObject } from "./wire/json.js";

export interface Supposed {
  /** The tool by the name a host would use. */
  readonly name: string;
  readonly args: JsonObject;
  /** The principal who would call, and the groups that it would be in. */
  readonly as: string;
  readonly groups: readonly string[];
}

/** Nothing is called and nothing spent. */
export function explainCall(
  { catalog, policy }: Pick<Inside, "catalog" | "policy">,
  { name, args, as, groups }: Supposed,
): Explanation | { readonly unknown: string } {
  const client: Client = {
    principal: { id: as, groups, claims: {} },
    affinity: `explain ${as} ${groups.join(" ")}`,
    session: false,
    scope: "",
    capabilities: {},
  };
  const route = catalog.view(client).find("tools", name);
  if (route === undefined)
    return { unknown: `for ${as} there is no tool ${name}: none has this name, or it is hidden` };
  const call = {
    id: nextCallId(),
    method: "tools/call",
    params: { name, arguments: args },
    client,
    route,
    signal: new AbortController().signal,
    notify: () => {},
  };
  return policy.explain(withGivenArguments(call));
}

/**
 * `?name=…&args={…}&as=…&group=…&group=…`
 *
 * @throws BadQuery when the name is missing or the arguments are no JSON object.
 */
export function readSupposed(query: URLSearchParams): Supposed {
  const name = query.get("name");
  if (name === null || name === "") throw new BadQuery("name=… says which tool");
  return {
    name,
    args: readArgs(query.get("args") ?? "{}"),
    as: query.get("as") ?? "anonymous",
    groups: query.getAll("group"),
  };
}

function readArgs(text: string): JsonObject {
  let args: unknown;
  try {
    args = JSON.parse(text);
  } catch (cause) {
    throw new BadQuery("args=… must be JSON", { cause });
  }
  if (!isObject(args)) throw new BadQuery("args=… must be a JSON object");
  return args;
}
