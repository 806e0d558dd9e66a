/** The routes of tools and prompts that are held back: no list has them, and a call of one is refused with the reason. */
import type { Route } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { ListKind } from "../core/lists.js";
import type { Endpoint } from "./endpoints.js";
import type { ServerLists } from "./server-lists.js";
import type { ServerNamespace } from "./server-namespace.js";
import type { CatalogView, VisibilityCheck } from "./view.js";

type NamedKind = "tools" | "prompts";

/** The names of one kind at one server, by the name that the client uses. */
interface Names {
  /** Those that it was made of. */
  readonly own: readonly string[];
  readonly byExposed: ReadonlyMap<string, Route>;
}

/** Finds them in the views of clients. */
export class HeldTargets {
  readonly #servers: ReadonlyMap<string, ServerLists>;
  readonly #isVisible: VisibilityCheck | undefined;
  readonly #names: Readonly<Record<NamedKind, WeakMap<ServerNamespace, Names>>> = {
    tools: new WeakMap(),
    prompts: new WeakMap(),
  };

  constructor(servers: ReadonlyMap<string, ServerLists>, isVisible: VisibilityCheck | undefined) {
    this.#servers = servers;
    this.#isVisible = isVisible;
  }

  /** The route of a held target by the name that a client uses; undefined where filters or rules hide it from the client. */
  find(client: Client, view: CatalogView, kind: ListKind, name: string): Route | undefined {
    if (kind !== "tools" && kind !== "prompts") return undefined;
    const { namespaces } = view.endpoint;
    const routes = namespaces.flatMap((space) => this.#namesOf(view, space, kind)?.byExposed.get(name) ?? []);
    const [route] = routes.length > 0 ? routes : this.#byOwnName(view, namespaces, kind, name);
    if (route === undefined || !passes(view.endpoint, route)) return undefined;
    return this.#isVisible === undefined || this.#isVisible(client, route) ? route : undefined;
  }

  /** By a server's own name, if exactly one server holds such a target. */
  #byOwnName(
    view: CatalogView,
    namespaces: readonly ServerNamespace[],
    kind: NamedKind,
    name: string,
  ): readonly Route[] {
    const routes = namespaces.flatMap((space) =>
      [...(this.#namesOf(view, space, kind)?.byExposed.values() ?? [])].filter(
        ({ target }) => target === name,
      ),
    );
    return routes.length === 1 ? routes : [];
  }

  #namesOf(view: CatalogView, space: ServerNamespace, kind: NamedKind): Names | undefined {
    const own = this.#servers.get(space.name)?.held?.unlisted(kind);
    if (own === undefined || own.length === 0) return undefined;
    const known = this.#names[kind].get(space);
    if (known?.own === own) return known;
    const routes = own.flatMap((target) =>
      space.passes(kind, target) ? (view.findOnServer(kind, space.name, target) ?? []) : [],
    );
    const names = { own, byExposed: new Map(routes.map((route) => [route.exposed, route])) };
    this.#names[kind].set(space, names);
    return names;
  }
}

/** Whether the filter of a profile lets it through. */
const passes = ({ filter }: Endpoint, { kind, exposed, unambiguousName = exposed }: Route): boolean =>
  filter === undefined ||
  kind === "methods" ||
  (filter.passes(kind, exposed) && filter.passes(kind, unambiguousName));
