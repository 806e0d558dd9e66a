/** How the URIs of one server are renamed for one client, and which are remembered. */
import type { Catalog } from "../catalog/catalog.js";
import { isWebAddress } from "../catalog/uri-namespace.js";
import type { CatalogView } from "../catalog/view.js";
import type { Client } from "../core/client.js";
import type { Renaming } from "./rename-results.js";

type RenamingCatalog = Pick<Catalog, "view" | "learnUri">;

/** Built once per view and server; a call only looks it up. */
export class RenamingCache {
  readonly #catalog: RenamingCatalog;
  readonly #made = new WeakMap<CatalogView, Map<string, Renaming | undefined>>();

  constructor(catalog: RenamingCatalog) {
    this.#catalog = catalog;
  }

  /** Undefined where no URI changes or is remembered, as in the view of a single server. */
  of(client: Client, server: string): Renaming | undefined {
    const view = this.#catalog.view(client);
    const made = this.#made.get(view) ?? new Map<string, Renaming | undefined>();
    this.#made.set(view, made);
    if (!made.has(server)) made.set(server, this.#make(view, client, server));
    return made.get(server);
  }

  #make(view: CatalogView, client: Client, server: string): Renaming | undefined {
    const { namespaces } = view.endpoint;
    const space = namespaces.find(({ name }) => name === server);
    if (space === undefined || (namespaces.length === 1 && space.uris === undefined)) return undefined;
    const bare = namespaces.filter(({ uris }) => uris === undefined).length;
    // A URI that several servers could have returned must lead back to the one that did.
    const unclear = (own: string): boolean =>
      namespaces.length > 1 && (isWebAddress(own) || (space.uris === undefined && bare > 1));
    const uri = (own: string): string => {
      if (unclear(own)) this.#catalog.learnUri(client, own, server);
      return space.uris?.expose(own) ?? own;
    };
    const page = (own: string): string | undefined =>
      space.passes("resources", own) && view.leadsTo(server, space.uris?.expose(own) ?? own)
        ? uri(own)
        : undefined;
    return { uri, page };
  }
}
