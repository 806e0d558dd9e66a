/** Which lists are loaded again after a sign-in? Those of the hosts of that principal, which may have lists from before. */
import type { Principal } from "../core/client.js";
import { principalKey } from "../core/principal.js";
import type { Upstream } from "../core/upstream.js";
import type { ListRefresh } from "./list-refresh.js";
import type { ScopedLists } from "./scoped-lists.js";

/** The loads of one server that are under way. */
export class SignInLoads {
  readonly #upstream: Pick<Upstream, "listScope">;
  readonly #lists: ScopedLists;
  readonly #refresh: Pick<ListRefresh, "load">;
  /** By the key of the principal. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(upstream: Pick<Upstream, "listScope">, lists: ScopedLists, refresh: Pick<ListRefresh, "load">) {
    this.#upstream = upstream;
    this.#lists = lists;
    this.#refresh = refresh;
  }

  /** That of this principal; undefined if there is none. */
  of(principal: Principal): Promise<void> | undefined {
    return this.#running.get(principalKey(principal));
  }

  /** Loads what the clients of the principal with this key see now. */
  async load(principal: string): Promise<void> {
    const loaded = this.#loadAll(principal);
    this.#running.set(principal, loaded);
    try {
      await loaded;
    } finally {
      if (this.#running.get(principal) === loaded) this.#running.delete(principal);
    }
  }

  async #loadAll(principal: string): Promise<void> {
    const clients = this.#lists.all().flatMap(({ client }) => client ?? []);
    for (const client of clients.filter((one) => principalKey(one.principal) === principal)) {
      const before = this.#upstream.listScope(client);
      await this.#refresh.load(this.#lists.register(before, client));
      // Only the connection shows which era the server is of, and with it the scope.
      const now = this.#upstream.listScope(client);
      if (now.key !== before.key) await this.#refresh.load(this.#lists.register(now, client));
    }
  }
}
