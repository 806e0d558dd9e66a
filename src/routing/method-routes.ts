/** Which server serves a method that has no target of its own, and which targets the call names there. */

import type { Catalog } from "../catalog/catalog.js";
import { exposeUri } from "../catalog/naming.js";
import type { CatalogView, Snapshot } from "../catalog/view.js";
import { type Call, methodRoute, type Route } from "../core/call.js";
import { invalidParams } from "../core/check-params.js";
import { ambiguousMethod, GatewayError, unknownMethod, unknownTarget } from "../core/errors.js";
import { LIST_KINDS } from "../core/lists.js";
import { methodsWhere } from "../core/methods.js";
import { supportsTasks } from "../core/tasks.js";
import type { JsonObject } from "../wire/json.js";
import { declaresMethod, isForwardableMethod } from "./extensions.js";
import { MAX_TEXTS, type NamingMember, namingMembers, possibleNames, withNames } from "./method-names.js";
import type { Tasks } from "./tasks.js";

type RouteCatalog = Pick<Catalog, "view" | "unfilteredView" | "reachable" | "capabilities">;

/** Methods that the gateway answers, merges, or routes by their target or task. */
const ROUTED_OTHERWISE = methodsWhere(({ answeredBy }) => answeredBy !== "edge" && answeredBy !== "host");

/** Whether calls of `method` are routed by MethodRoutes. */
export const hasNoTarget = (method: string): boolean => !ROUTED_OTHERWISE.has(method);

/** Routes custom methods. */
export class MethodRoutes {
  readonly #catalog: RouteCatalog;
  readonly #tasks: Pick<Tasks, "find">;
  /** The server's own names, by the members that carry exposed ones. */
  readonly #names = new WeakMap<Route, readonly (readonly [NamingMember, string])[]>();

  constructor(catalog: RouteCatalog, tasks: Pick<Tasks, "find">) {
    this.#catalog = catalog;
    this.#tasks = tasks;
  }

  /**
   * The only possible server of a call: among those visible to the caller, the one that declares the method
   * and has the named targets. The route lists those targets, so that policy evaluates them with the method.
   */
  find(call: Call): Route | GatewayError {
    const { method, params, client } = call;
    if (!isForwardableMethod(method)) return unknownMethod(method);
    const servers = this.#catalog.reachable(client, method);
    const members = namingMembers(params).flatMap((member) => this.#resolve(call, member));
    const declarers = servers.filter((server) =>
      declaresMethod(this.#catalog.capabilities(server, client), method),
    );
    // When a server declares the method, a match with a server's own name is no evidence: the text may be
    // any word.
    const leading = declarers.length > 0 ? members.filter(({ surely }) => surely) : members;
    const named = [...new Set(leading.map(({ route }) => route.upstream))];
    if (named.length > 1) return severalServers(method, leading);
    const [byName] = named;
    if (byName === undefined) {
      const [server] = declarers;
      if (server === undefined) return unknownMethod(method);
      if (declarers.length > 1) return ambiguousMethod(method, declarers);
      return this.#routeTo(server, call, []);
    }
    if (!servers.includes(byName)) return unknownMethod(method);
    if (declarers.length > 0 && !declarers.includes(byName)) return servedElsewhere(method, byName, leading);
    return this.#routeTo(byName, call, leading);
  }

  /** Where a member leads in the view of the caller. */
  #resolve({ client }: Call, member: NamingMember): readonly ResolvedName[] {
    const { kinds, path, value } = member;
    const view = this.#catalog.view(client);
    if (path[0] === "taskId") {
      const task = this.#tasks.find(client, value);
      const route = task && view.findOnServer("tools", task.server, task.tool);
      return task === undefined || route === undefined ? [] : [{ member, route, own: task.id, surely: true }];
    }
    return kinds.flatMap((kind): readonly ResolvedName[] => {
      const route = view.find(kind, value);
      if (route === undefined) return [];
      return [{ member, route, own: route.target, surely: route.exposed === value }];
    });
  }

  /** The parameters of a call to `route`, with the server's own names. */
  ownParams(route: Route, params: JsonObject): JsonObject {
    return withNames(params, this.#names.get(route) ?? []);
  }

  /** The route to `server`, unless the call names a target there that is hidden from the caller. */
  #routeTo(server: string, call: Call, found: readonly ResolvedName[]): Route | GatewayError {
    const { method, params, client } = call;
    const texts = possibleNames(params);
    if (texts === undefined) return tooManyTexts(method);
    const own = new Map<string, readonly [NamingMember, string]>();
    for (const { member, own: name } of found) {
      const known = own.get(memberPath(member));
      if (known !== undefined && known[1] !== name) return ambiguous(method, member);
      own.set(memberPath(member), [member, name]);
    }
    const members = namingMembers(params);
    const isUnknownTask = members.some(
      (member) => member.path[0] === "taskId" && !own.has(memberPath(member)),
    );
    if (isUnknownTask && supportsTasks(this.#catalog.capabilities(server, client))) return noSuchTask();
    const named = new Map(found.map(({ route }) => [keyOf(route), { route, surely: true }]));
    const renamedTexts = new Set([...own.values()].map(([{ value }]) => value));
    const lists = this.#listsOf(client);
    for (const { text, surely } of texts) {
      if (renamedTexts.has(text)) continue;
      for (const route of this.#targetsNamed(server, lists, text, surely)) {
        if (route === HIDDEN) return unknownTarget(LOOKS_LIKE_URI.test(text) ? "resources" : "tools", text);
        const known = named.get(keyOf(route));
        if (known?.surely !== true) named.set(keyOf(route), { route, surely });
        if (named.size > MAX_NAMED) return tooManyNames(method);
      }
    }
    const route = methodRoute(server, method, [...named.values()]);
    this.#names.set(route, [...own.values()]);
    return route;
  }

  #listsOf(client: Call["client"]): VisibleLists {
    const seen = this.#catalog.view(client);
    const all = this.#catalog.unfilteredView(client.endpoint === "" ? client : { ...client, endpoint: "" });
    const kinds = LIST_KINDS.map((kind) => ({ all: all.list(kind), seen: seen.list(kind) }));
    return { client, seen, kinds };
  }

  /** The targets that `server` itself has under this name. */
  #targetsNamed(
    server: string,
    { client, seen, kinds }: VisibleLists,
    text: string,
    isName: boolean,
  ): readonly (Route | typeof HIDDEN)[] {
    const there = (list: Snapshot): Route | undefined =>
      list.ownersOf(text).find(({ upstream }) => upstream === server);
    const found = kinds.flatMap((lists): readonly (Route | typeof HIDDEN)[] =>
      there(lists.all) === undefined ? [] : [there(lists.seen) ?? HIDDEN],
    );
    if (found.length > 0 || !LOOKS_LIKE_URI.test(text)) return found;
    // A text that looks like a URI may be a resource that the server reads without listing it.
    const space = seen.endpoint.namespaces.find(({ name }) => name === server);
    if (space === undefined) return [];
    if (isName && this.#catalog.capabilities(server, client)?.resources !== undefined) {
      // A visible URI of the exposed form would have been found above.
      const isExposed = space.uris?.reveal(text) !== undefined;
      return [(isExposed ? undefined : seen.resourceOf(server, text)) ?? HIDDEN];
    }
    const { aggregate = space } = space;
    const [exposed, inWhole] = [exposeUri(space, text), exposeUri(aggregate, text)];
    const elsewhere = exposed === inWhole ? {} : { aggregateName: inWhole };
    return [{ upstream: server, target: text, exposed, ...elsewhere, kind: "resources" }];
  }
}

/** The view of a client, and every list with and without the filter. */
interface VisibleLists {
  readonly client: Call["client"];
  readonly seen: CatalogView;
  readonly kinds: readonly { readonly all: Snapshot; readonly seen: Snapshot }[];
}

/** A target that the server has and that is hidden from the caller. */
const HIDDEN = Symbol("hidden");

/** Where a member leads. */
interface ResolvedName {
  readonly member: NamingMember;
  readonly route: Route;
  /** The server's own name. */
  readonly own: string;
  /** False for a server's own name, which may be a coincidence. */
  readonly surely: boolean;
}

/** No white space, and limited in length: longer texts, such as data URIs, are no names. */
const LOOKS_LIKE_URI = /^[a-z][a-z0-9+.-]*:\S{1,8192}$/i;

const keyOf = ({ kind, upstream, target }: Route): string => `${kind}\0${upstream}\0${target}`;

const memberPath = ({ path }: NamingMember): string => `"${path.join(".")}"`;

const severalServers = (method: string, found: readonly ResolvedName[]): GatewayError => {
  const leads = found.map(({ member, route }) => `${memberPath(member)} of ${route.upstream}`);
  return invalidParams(
    `${method} names targets of several servers (${[...new Set(leads)].join(", ")}); a call goes to one`,
  );
};

const servedElsewhere = (method: string, server: string, found: readonly ResolvedName[]): GatewayError =>
  invalidParams(
    `${method} is not a method of ${server}, which has what ${found.map(({ member }) => memberPath(member)).join(" and ")} names`,
  );

const ambiguous = (method: string, member: NamingMember): GatewayError =>
  invalidParams(`${method} has no unique target: ${memberPath(member)} names two targets`);

const tooManyTexts = (method: string): GatewayError =>
  invalidParams(`${method} has more than ${MAX_TEXTS} texts in its params, any of which may be a name`);

/** Limit of targets that one call may name; policy evaluates each. */
const MAX_NAMED = 256;

const tooManyNames = (method: string): GatewayError =>
  invalidParams(`${method} names more than ${MAX_NAMED} targets, more than can be evaluated`);

/** A task of another client and one that never existed get the same error. */
const noSuchTask = (): GatewayError =>
  new GatewayError("unknown_target", "downstream", "there is no such task");
