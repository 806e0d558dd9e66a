/** Shares facts about servers between replicas: the detected era, and changed lists. They tell each other directly. */
import { createHmac, hkdfSync } from "node:crypto";
import { LIST_KINDS, type ListKind } from "../../core/lists.js";
import type { Logger } from "../../core/logger.js";
import type { SharedServer, SharedServers } from "../../core/replicas.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { PeerMessages } from "./peer-messages.js";
import { SharedFacts } from "./shared-facts.js";

const LISTS = "list";
const ERAS = "era";
/** How long (ms) replicas that join are notified of a changed list. */
const LIST_TTL_MS = 60_000;
/** How long (ms) the era that one replica detected holds for others. */
const ERA_TTL_MS = 60 * 60_000;

type ListListener = (server: string, kind: ListKind, digest: string) => void;

/** The servers of all replicas, by digests. */
export class ServersOfReplicas implements SharedServers {
  /** The eras, and the lists that were found changed. */
  readonly facts: readonly SharedFacts[];
  readonly #eras: SharedFacts;
  readonly #lists: SharedFacts;
  readonly #digestKey: Buffer;
  readonly #listeners = new Set<ListListener>();

  /** @param secret shared by all replicas */
  constructor(
    messages: PeerMessages,
    secret: string,
    logger: Logger,
    /** Resolves when the others are known, or after a moment. */
    private readonly ready: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#digestKey = Buffer.from(hkdfSync("sha256", secret, "cardea", "servers of all replicas", 32));
    this.#eras = new SharedFacts({ messages, logger, kind: ERAS, lifeMs: ERA_TTL_MS });
    this.#lists = new SharedFacts({
      ...{ messages, logger, kind: LISTS, lifeMs: LIST_TTL_MS },
      onTold: (key, { value }) => {
        const [server = "", named] = key.split(" ");
        const kind = LIST_KINDS.find((each) => each === named);
        const digest = stringAt(value, "digest");
        if (kind === undefined || digest === undefined) return;
        for (const listener of this.#listeners) listener(server, kind, digest);
      },
    });
    this.facts = [this.#eras, this.#lists];
  }

  of(identity: string): SharedServer {
    const server = this.#digest("server", identity);
    const digestOf = (items: readonly JsonObject[]): string => this.#digest("list", writeJson(items));
    return {
      readEra: async () => {
        await this.ready();
        return (await this.#eras.find(server))?.value;
      },
      keepEra: (era) => {
        this.#eras.set(server, Object.keys(era).length === 0 ? undefined : era);
        this.#eras.tellSoon(server);
      },
      listChanged: (kind, items) => {
        const key = `${server} ${kind}`;
        this.#lists.set(key, { digest: digestOf(items) });
        this.#lists.tellSoon(key);
      },
      onListChanged: (listener) => {
        const own: ListListener = (about, kind, digest) => {
          if (about === server) listener(kind, (items) => digestOf(items) === digest);
        };
        this.#listeners.add(own);
        return () => void this.#listeners.delete(own);
      },
    };
  }

  #digest(what: string, text: string): string {
    return createHmac("sha256", this.#digestKey).update(`${what}\n${text}`).digest("base64url");
  }
}
