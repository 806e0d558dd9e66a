/** Why a call would be let through or not, for `cardea explain`, `GET /api/v1/explain` and people who write rules. */
import { BadQuery } from "../admin/pages.js";
import type { Catalog } from "../catalog/catalog.js";
import { type Call, nextCallId, type Route } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { unknownMethod } from "../core/refusal.js";
import { principalNamed } from "../downstream/authenticate/api-keys.js";
import type { Pipeline } from "../gateway/pipeline.js";
import type { Explanation } from "../policy/policy.js";
import { withConfiguredArguments } from "../routing/configured-arguments.js";
import { unfilteredCatalog } from "../routing/hidden-targets.js";
import { hasNoTarget, MethodRoutes } from "../routing/method-routes.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";

export interface ExplainQuery {
  /** The tool, prompt or resource by the name or URI a host would use; else a method that has no target. */
  readonly name: string;
  /** Of a method its parameters. */
  readonly args: JsonObject;
  /** The principal who would call. */
  readonly as: string;
  /** Default: those that the config gives to its keys. */
  readonly groups?: readonly string[];
  /** What its token would grant. */
  readonly scopes: readonly string[];
}

export interface ExplainResult extends Explanation {
  readonly server: string;
  /** The server's own name or URI of it. */
  readonly target: string;
  readonly principal: {
    readonly id: string;
    readonly groups: readonly string[];
    readonly scopes: readonly string[];
  };
  /** Why the arguments would be refused before any rule is asked; absent where they would not. */
  readonly badArguments?: string;
}

/** Nothing is called and nothing spent. */
export async function explainCall(
  pipeline: Pick<Pipeline, "catalog" | "policy" | "config" | "schemas" | "tasks">,
  { name, args, as, scopes, ...said }: ExplainQuery,
): Promise<ExplainResult | { readonly unknown: string }> {
  const { groups = principalNamed(as, pipeline.config.auth).groups } = said;
  const client: Client = {
    principal: { id: as, groups, claims: scopes.length === 0 ? {} : { scope: scopes.join(" ") } },
    affinity: `explain ${writeJson([as, groups, scopes])}`,
    session: false,
    endpoint: "",
    capabilities: {},
  };
  const hypotheticalCall = (message: Pick<Call, "method" | "params">, route?: Route): Call => ({
    id: nextCallId(),
    ...message,
    client,
    ...(route !== undefined && { route }),
    signal: new AbortController().signal,
    notify: () => {},
  });
  const found =
    targetRoute(pipeline.catalog, client, name) ??
    methodRouteOf(pipeline, hypotheticalCall({ method: name, params: args }));
  if (found === undefined) {
    return { unknown: `there is no tool, prompt or resource ${name} for ${as}` };
  }
  if (found instanceof GatewayError) return { unknown: found.message };
  const route = found;
  const call = withConfiguredArguments(hypotheticalCall(requestFor(route, name, args), route));
  const badArguments = await argumentsFault(pipeline, call, route);
  return {
    server: route.upstream,
    target: route.target,
    principal: { id: as, groups, scopes },
    ...pipeline.policy.explain(call),
    ...(badArguments !== undefined && { badArguments }),
  };
}

/** Where a host would be led; and where it would be if no rule hid that from it, so that the rule can be named. */
function targetRoute(
  catalog: Pick<Catalog, "view" | "unfilteredView">,
  client: Client,
  name: string,
): Route | undefined {
  for (const view of [catalog.view(client), catalog.unfilteredView(client)]) {
    for (const kind of ["tools", "prompts", "resources"] as const) {
      const route = view.find(kind, name);
      if (route !== undefined) return route;
    }
  }
  return undefined;
}

/** Where a method leads that has no target; the reason, where it leads nowhere though somebody has it. */
function methodRouteOf(
  { catalog, tasks }: Pick<Pipeline, "catalog" | "tasks">,
  call: Call,
): Route | GatewayError | undefined {
  if (!hasNoTarget(call.method)) return undefined;
  const found = new MethodRoutes(catalog, tasks).find(call);
  if (!(found instanceof GatewayError)) return found;
  const unhidden = new MethodRoutes(unfilteredCatalog(catalog), tasks).find(call);
  if (!(unhidden instanceof GatewayError)) return unhidden;
  return unhidden.message === unknownMethod(call.method).message ? undefined : unhidden;
}

function requestFor(route: Route, name: string, args: JsonObject): Pick<Call, "method" | "params"> {
  switch (route.kind) {
    case "tools":
      return { method: "tools/call", params: { name, arguments: args } };
    case "prompts":
      return { method: "prompts/get", params: { name, arguments: args } };
    case "methods":
      return { method: name, params: args };
    case "resources":
    case "resourceTemplates":
      return { method: "resources/read", params: { uri: name } };
  }
}

async function argumentsFault(
  { config, schemas }: Pick<Pipeline, "config" | "schemas">,
  { params }: Call,
  route: Route,
): Promise<string | undefined> {
  const server = config.servers.find(({ name }) => name === route.upstream);
  if (route.kind !== "tools" || server?.checks?.arguments !== true) return undefined;
  return (await schemas.validate(route, "inputSchema", params.arguments))?.reason;
}

/**
 * `?name=…&args={…}&as=…&group=…&group=…&scope=…`
 *
 * @throws BadQuery when the name is missing or the arguments are no JSON object.
 */
export function readExplainQuery(query: URLSearchParams): ExplainQuery {
  const name = query.get("name");
  if (name === null || name === "") throw new BadQuery("name=… says which tool, prompt, resource or method");
  const groups = query.getAll("group");
  return {
    name,
    args: readArgs(query.get("args") ?? "{}"),
    as: query.get("as") ?? "anonymous",
    ...(groups.length > 0 && { groups }),
    scopes: query.getAll("scope"),
  };
}

function readArgs(text: string): JsonObject {
  let args: unknown;
  try {
    args = parseJson(text);
  } catch (cause) {
    throw new BadQuery("args=… must be JSON", { cause });
  }
  if (!isObject(args)) throw new BadQuery("args=… must be a JSON object");
  return args;
}
