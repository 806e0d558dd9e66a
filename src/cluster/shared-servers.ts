/** Shares facts about servers between replicas: the detected era, and changed lists. */
import { createHmac, hkdfSync } from "node:crypto";
import { type SharedServer, type SharedServers, type SharedStore, untilUp } from "../core/cluster.js";
import { LIST_KINDS } from "../core/lists.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";

/** The number changes with the message format: other versions use another channel. */
const CHANNEL = "servers:lists:1";
/** How long (ms) the era that one replica detected holds for others. */
const ERA_TTL_MS = 60 * 60_000;
/** How long (ms) a first connection waits for the store to connect. */
const STORE_WAIT_MS = 250;

/** The servers of all replicas. The store learns neither their names nor their addresses. */
export class ServersInStore implements SharedServers {
  readonly #store: SharedStore;
  readonly #own: string;
  readonly #digestKey: Buffer;

  /** @param secret shared by all replicas; `own`: the id of this one */
  constructor(store: SharedStore, secret: string, own: string) {
    this.#store = store;
    this.#own = own;
    this.#digestKey = Buffer.from(hkdfSync("sha256", secret, "cardea", "servers of all replicas", 32));
  }

  of(identity: string): SharedServer {
    const store = this.#store;
    const server = this.#digest("server", identity);
    const key = `era:${server}`;
    const digestOf = (items: readonly JsonObject[]): string => this.#digest("list", writeJson(items));
    return {
      readEra: async () => {
        if (!(await untilUp(store, STORE_WAIT_MS))) return undefined;
        const text = await store.get(key).catch(UNKNOWN);
        return objectIn(text);
      },
      keepEra(era) {
        const kept =
          Object.keys(era).length === 0 ? store.delete(key) : store.set(key, writeJson(era), ERA_TTL_MS);
        kept.catch(UNKNOWN);
      },
      listChanged: (kind, items) =>
        store.publish(CHANNEL, [this.#own, server, kind, digestOf(items)].join(" ")),
      onListChanged: (listener) =>
        store.subscribe(CHANNEL, (message) => {
          const [from, about, named, digest] = message.split(" ");
          const kind = LIST_KINDS.find((each) => each === named);
          if (from === this.#own || about !== server || kind === undefined) return;
          listener(kind, (items) => digestOf(items) === digest);
        }),
    };
  }

  #digest(what: string, text: string): string {
    return createHmac("sha256", this.#digestKey).update(`${what}\n${text}`).digest("base64url");
  }
}

/** If the store is unavailable or refuses (`doctor` says why), each replica detects it itself. */
const UNKNOWN = (): undefined => undefined;

function objectIn(text: string | undefined): JsonObject | undefined {
  try {
    const value: unknown = text === undefined ? undefined : parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Not written by a replica: the server itself is asked.
    return undefined;
  }
}
