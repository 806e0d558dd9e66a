/** The resources of the gateway itself: their place in lists, and when their followers are notified. */
import { createHash } from "node:crypto";
import type { Client } from "../core/client.js";
import type { OwnResource, ToolSource } from "../core/list-transform.js";
import { inBackground, type Logger } from "../core/logger.js";
import { cooperativeYield } from "../runtime/cooperative-yield.js";
import { Snapshot } from "./view.js";

/** The resources of one config. */
export class OwnResources {
  readonly #resources: readonly OwnResource[];
  readonly #source: ToolSource;
  /** Keyed by the list of servers' resources, so that equal lists share text and version. */
  readonly #lists = new WeakMap<Snapshot, Snapshot>();

  constructor(resources: readonly OwnResource[], source: ToolSource) {
    this.#resources = resources;
    this.#source = source;
  }

  /** Whether `client` sees any. */
  areShown(client: Client): boolean {
    return this.#resources.length > 0 && !this.#source.isTransparent(client);
  }

  /** The resources of servers, with those of the gateway behind them: its URIs are its own. */
  listed(client: Client, list: Snapshot): Snapshot {
    if (!this.areShown(client)) return list;
    let whole = this.#lists.get(list);
    if (whole === undefined) {
      const own = this.#resources.map(({ entry }) => entry);
      const isOwn = (uri: string): boolean => own.some(({ route }) => route.exposed === uri);
      const others = list.entries.filter(({ route }) => !isOwn(route.exposed));
      whole = new Snapshot("resources", [...others, ...own]);
      this.#lists.set(list, whole);
    }
    return whole;
  }

  /** The text of one as `client` finds it now; undefined if it is none. */
  text(client: Client, uri: string): string | undefined {
    const found = this.#resources.find(({ entry }) => entry.route.exposed === uri);
    return found === undefined || !this.areShown(client) ? undefined : found.text(client, this.#source);
  }
}

/** A resource of the gateway itself that a subscriber follows. */
interface OwnFollow {
  readonly client: Client;
  readonly uri: string;
  /** A digest of the text at the time of the subscription, or of the last notification. */
  known: string;
  readonly onChange: () => void;
}

/** States of several servers often change together, so changes within this window (ms) are notified together. */
const COALESCE_MS = 20;
/** Followers per turn of the event loop. */
const BATCH_SIZE = 100;

/** The follows of a gateway, in every config that there will be. */
export class OwnFollows {
  readonly #textOf: (client: Client, uri: string) => string | undefined;
  readonly #logger: Logger;
  readonly #follows = new Set<OwnFollow>();
  #due: NodeJS.Timeout | undefined;

  /** @param textOf of the catalog that is live */
  constructor(textOf: (client: Client, uri: string) => string | undefined, logger: Logger) {
    this.#textOf = textOf;
    this.#logger = logger;
  }

  /** Until the returned function is called; undefined if the gateway has no such resource. */
  follow(client: Client, uri: string, onChange: () => void): (() => void) | undefined {
    const text = this.#textOf(client, uri);
    if (text === undefined) return undefined;
    const follow: OwnFollow = { client, uri, known: digestOf(text), onChange };
    this.#follows.add(follow);
    return () => {
      this.#follows.delete(follow);
      if (this.#follows.size === 0) this.close();
    };
  }

  /** The state of a server may have changed. */
  schedule(): void {
    if (this.#follows.size === 0 || this.#due !== undefined) return;
    this.#due = setTimeout(() => {
      this.#due = undefined;
      inBackground(this.#compareAll(), this.#logger, "comparing states of servers");
    }, COALESCE_MS);
  }

  /** Ends the scheduled comparison. */
  close(): void {
    clearTimeout(this.#due);
    this.#due = undefined;
  }

  async #compareAll(): Promise<void> {
    let compared = 0;
    for (const follow of [...this.#follows]) {
      if (++compared % BATCH_SIZE === 0) await cooperativeYield();
      if (!this.#follows.has(follow)) continue;
      const text = this.#textOf(follow.client, follow.uri);
      const now = text === undefined ? follow.known : digestOf(text);
      if (now === follow.known) continue;
      follow.known = now;
      follow.onChange();
    }
  }
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 16);
