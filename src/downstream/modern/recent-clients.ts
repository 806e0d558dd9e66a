/** Which hosts of this era were seen lately? They have no session; the status page and a gauge show them as these. */
import { LRUCache } from "lru-cache";
import type { Client } from "../../core/client.js";
import { principalKey } from "../../core/principal.js";
import { boundedKey, entryLimit, retainedCopy } from "../../runtime/cache-limits.js";
import { stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** A host that sent nothing for this long (ms) is no longer shown. */
const IDLE_MS = 30 * 60_000;
const MAX_CLIENTS = 1_000;
/** Of each text, in characters. */
const MAX_TEXT_LENGTH = 200;

/** One host, by principal, name and endpoint. Its times are milliseconds since 1970. */
export interface SeenClient {
  readonly principal: string;
  /** The name that the host gives itself. */
  readonly client: string | undefined;
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly scope: string;
  readonly firstAt: number;
  lastAt: number;
}

/** The hosts that were seen in the last 30 minutes, at most 1,000. */
export class RecentClients {
  readonly #seen = new LRUCache<string, SeenClient>(entryLimit(MAX_CLIENTS));

  /** The record of the host that `client` is, with this moment as `lastAt`. */
  of({ principal, endpoint, info }: Client): SeenClient {
    const name = stringAt(info, "name");
    const key = boundedKey(writeJson([principalKey(principal), endpoint, name]));
    const now = Date.now();
    const known = this.#seen.get(key);
    if (known !== undefined && now - known.lastAt < IDLE_MS) {
      known.lastAt = now;
      return known;
    }
    const seen = {
      principal: shortened(principal.id),
      client: name === undefined ? undefined : shortened(name),
      scope: shortened(endpoint),
      firstAt: now,
      lastAt: now,
    };
    this.#seen.set(key, seen);
    return seen;
  }

  /** Those that are not idle. */
  list(): readonly SeenClient[] {
    const since = Date.now() - IDLE_MS;
    return [...this.#seen.values()].filter(({ lastAt }) => lastAt > since);
  }
}

const shortened = (text: string): string => retainedCopy(text.slice(0, MAX_TEXT_LENGTH));
