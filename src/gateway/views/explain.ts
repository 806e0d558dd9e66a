/** Explains why a call would be allowed or denied, for `cardea explain` and `GET /api/v1/explain`. */
import type { Catalog } from "../../catalog/catalog.js";
import { ToolOverrides } from "../../catalog/overrides.js";
import type { AuthConfig } from "../../config/auth-config.js";
import { closest } from "../../config/closest.js";
import { type ArgumentNames, argumentNames } from "../../core/argument-names.js";
import type { Call, Route } from "../../core/call.js";
import type { Explanation } from "../../core/call-policy.js";
import { ANONYMOUS, type Client, type Principal } from "../../core/client.js";
import { GatewayError, unknownMethod } from "../../core/errors.js";
import type { ExplainPlace } from "../../core/feature.js";
import { LIST_KINDS } from "../../core/lists.js";
import { principalNamed } from "../../downstream/authenticate/authentication.js";
import { withConfiguredArguments } from "../../routing/configured-arguments.js";
import { unfilteredCatalog } from "../../routing/locate.js";
import { hasNoTarget, MethodRoutes } from "../../routing/method-routes.js";
import { withNormalizedArguments } from "../../routing/normalized-arguments.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { argumentForms } from "../argument-forms.js";
import type { KnownPrincipal } from "../known-principals.js";
import type { Pipeline } from "../pipeline.js";

/** A hypothetical caller. */
export interface PrincipalQuery {
  /** The id of the calling principal. */
  readonly as: string;
  /** Default: the groups of that principal's keys in the config. */
  readonly groups?: readonly string[];
  /** The scopes of its token. */
  readonly scopes: readonly string[];
}

/** A hypothetical call. */
export interface ExplainQuery extends PrincipalQuery {
  /** The tool, prompt or resource by the name or URI a host would use; or a method without a target. */
  readonly name: string;
  /** The arguments of the call; for a method its parameters. */
  readonly args: JsonObject;
  /** Targets, by the same names, of calls that were made before in the same conversation. Default: none. */
  readonly after?: readonly string[] | undefined;
}

/** The decision of the policy, and the route of the call; with the members of features. */
export interface ExplainResult extends Explanation {
  readonly server: string;
  /** The server's own name or URI of the target. */
  readonly target: string;
  readonly principal: {
    readonly id: string;
    readonly groups: readonly string[];
    /** When the token was verified of which the groups are (ISO 8601); absent if they are given, or those of keys. */
    readonly seenAt?: string;
    readonly scopes: readonly string[];
    /** Why no host can have this principal, as far as the config shows; absent if one can. */
    readonly unknown?: string;
  };
  /** For a tool of an HTTP API: the API's names of arguments and their members, by the listed names; absent where equal. */
  readonly argumentNames?: ArgumentNames;
  /** Why the arguments are invalid, which is checked before the rules; absent if they are valid. */
  readonly badArguments?: string;
}

/** Explains a hypothetical call; no server receives it and no budget is charged. */
export async function explainCall(
  pipeline: Pick<Pipeline, "catalog" | "policy" | "config" | "features" | "tasks" | "principals">,
  { name, args, after = [], ...caller }: ExplainQuery,
): Promise<ExplainResult | { readonly unknown: string }> {
  const { auth } = pipeline.config;
  const known = knownPrincipal(caller, pipeline);
  const client = supposedClient(caller, auth, known?.principal);
  const hypotheticalCall = (message: Pick<Call, "method" | "params">, route?: Route): Call => ({
    id: 0,
    ...message,
    client,
    ...(route !== undefined && { route }),
    signal: new AbortController().signal,
    notify: () => {},
  });
  const find = (named: string, params: JsonObject): Route | { readonly unknown: string } => {
    const found =
      targetRoute(pipeline.catalog, client, named) ??
      methodRouteOf(pipeline, hypotheticalCall({ method: named, params }));
    if (found === undefined) return unknownTarget(pipeline.catalog, client, named);
    return found instanceof GatewayError ? { unknown: found.message } : found;
  };
  const route = find(name, args);
  if ("unknown" in route) return route;
  const before: Route[] = [];
  for (const named of after) {
    const found = find(named, {});
    if ("unknown" in found) return found;
    before.push(found);
  }
  const given = await normalizedCall(hypotheticalCall(requestFor(route, name, args), route), pipeline);
  const call = withConfiguredArguments(given.call);
  const unknown = unknownPrincipal(caller.as, auth);
  const badArguments = given.fault ?? (await argumentsFault(pipeline, call, route));
  const names = argumentNames(route.item);
  const ofFeatures = membersOfFeatures(pipeline, client, route, before);
  return {
    server: route.upstream,
    target: route.target,
    principal: {
      id: caller.as,
      groups: client.principal.groups,
      ...(known !== undefined && { seenAt: known.seenAt }),
      scopes: caller.scopes,
      ...(unknown !== undefined && { unknown }),
    },
    ...pipeline.policy.explain(call, known !== undefined || !isOfTokens(caller, auth), before),
    ...ofFeatures("definition"),
    ...ofFeatures("list"),
    ...(names !== undefined && { argumentNames: names }),
    ...ofFeatures("schemas"),
    ...(badArguments !== undefined && { badArguments }),
  };
}

/** Why nothing has this name. */
function unknownTarget(
  catalog: Pick<Catalog, "ownTool" | "unfilteredView">,
  client: Client,
  name: string,
): { readonly unknown: string } {
  if (catalog.ownTool(client, name) !== undefined)
    return { unknown: `${name} is a tool of the gateway itself; rules are about the tools of servers` };
  const near = closest(name, exposedNames(catalog, client));
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return { unknown: `there is no tool, prompt or resource ${name} for ${client.principal.id}${hint}` };
}

/** The call in the form that rules see; the fault where it is refused before them. */
async function normalizedCall(
  call: Call,
  { config: { servers }, features }: Pick<Pipeline, "config" | "features">,
): Promise<{ readonly call: Call; readonly fault?: string }> {
  try {
    return { call: await withNormalizedArguments(call, argumentForms(servers, features.channels)) };
  } catch (error) {
    if (error instanceof GatewayError) return { call, fault: error.message };
    throw error;
  }
}

const NO_MEMBERS = (): object => ({});

/** What features say of a tool, by place. */
function membersOfFeatures(
  { catalog, config, features }: Pick<Pipeline, "catalog" | "config" | "features">,
  client: Client,
  route: Route,
  after: readonly Route[],
): (place: ExplainPlace) => object {
  const { kind, upstream, target, item, exposed } = route;
  if (kind !== "tools") return NO_MEMBERS;
  const { overrides = {} } = config.servers.find(({ name }) => name === upstream) ?? {};
  const definition = item && (new ToolOverrides(overrides).of(target)?.apply(item) ?? item);
  const { path } = config.listen.http;
  const profiles = Object.entries(config.profiles).filter(([, { servers }]) => servers.includes(upstream));
  const endpoints = [upstream, ...profiles.map(([name]) => name)];
  const urls = endpoints.map((endpoint) => ({ path: `${path}/${endpoint}`, endpoint }));
  const isListed = catalog.listed(client, "tools").has(exposed);
  const tool = { route, definition, isListed, after, urls: [{ path, endpoint: "" }, ...urls] };
  return features.explained(tool, config);
}

/** Whether tokens say which groups and scopes the caller has, and the query does not. */
const isOfTokens = ({ as, groups, scopes }: PrincipalQuery, auth: AuthConfig | undefined): boolean =>
  groups === undefined &&
  scopes.length === 0 &&
  (auth?.jwt ?? auth?.signIn) !== undefined &&
  as !== ANONYMOUS.id &&
  auth?.keys.every(({ id }) => id !== as) === true;

/** The caller as its last token has shown it, where tokens say which groups it has; undefined if none was seen. */
export function knownPrincipal(
  caller: PrincipalQuery,
  { config: { auth }, principals }: Pick<Pipeline, "config" | "principals">,
): KnownPrincipal | undefined {
  return isOfTokens(caller, auth) ? principals.of(principalNamed(caller.as, auth)) : undefined;
}

/** Whether the groups and claims are known that the caller has: given, those of keys, or those of a token that was seen. */
export const knowsGroups = (
  caller: PrincipalQuery,
  pipeline: Pick<Pipeline, "config" | "principals">,
): boolean => !isOfTokens(caller, pipeline.config.auth) || knownPrincipal(caller, pipeline) !== undefined;

/** The client of a hypothetical caller. It declares no capabilities. `known`: as its last token has shown it. */
export function supposedClient(
  { as, groups: given, scopes }: PrincipalQuery,
  auth: AuthConfig | undefined,
  known?: Principal,
): Client {
  if (known !== undefined)
    return {
      ...HYPOTHETICAL,
      principal: known,
      affinity: `explain ${writeJson([as, known.groups, known.claims])}`,
    };
  const named = principalNamed(as, auth);
  const groups = given ?? named.groups;
  return {
    principal: { ...named, groups, claims: scopes.length === 0 ? {} : { scope: scopes.join(" ") } },
    affinity: `explain ${writeJson([as, groups, scopes])}`,
    ...HYPOTHETICAL,
  };
}

const HYPOTHETICAL = { session: false, endpoint: "", capabilities: {} } as const;

/** `as=…&group=…&group=…&scope=…` */
export function readPrincipalQuery(query: URLSearchParams): PrincipalQuery {
  const groups = query.getAll("group");
  return {
    as: query.get("as") ?? ANONYMOUS.id,
    ...(groups.length > 0 && { groups }),
    scopes: query.getAll("scope"),
  };
}

/** Why no host can have the principal `id`, with the most similar id in the config; undefined if one can. */
export function unknownPrincipal(id: string, auth: AuthConfig | undefined): string | undefined {
  if (id === ANONYMOUS.id || (auth?.jwt ?? auth?.signIn) !== undefined) return undefined;
  if (auth === undefined) {
    return `no host comes as ${id} over HTTP: without "auth" in the config every host is ${ANONYMOUS.id}`;
  }
  const ids = auth.keys.map((key) => key.id);
  if (ids.includes(id)) return undefined;
  const near = closest(id, ids);
  return `no key in auth.keys is that of ${id}${near === undefined ? "" : `; did you mean ${near}?`}`;
}

/** All exposed names and URIs, including hidden ones. */
const exposedNames = (catalog: Pick<Catalog, "unfilteredView">, client: Client): readonly string[] =>
  LIST_KINDS.flatMap((kind) =>
    catalog
      .unfilteredView(client)
      .list(kind)
      .entries.map(({ route }) => route.exposed),
  );

/** The route of the name in the client's view, else in the unfiltered view, so that the hiding rule can be named. */
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

/** The route of a method without a target; the reason if a server has the method and no route exists. */
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
  { config, features }: Pick<Pipeline, "config" | "features">,
  call: Call,
  route: Route,
): Promise<string | undefined> {
  const server = config.servers.find(({ name }) => name === route.upstream);
  return server && features.argumentsFault(call, server);
}
