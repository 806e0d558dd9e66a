/** Routes learned from a client's earlier results: URIs that servers returned to it, and app pages that it fetched. */
import { LRUCache } from "lru-cache";
import type { Route } from "../core/call.js";
import { entryAndKeyLimit, entryLimit } from "../runtime/cache-limits.js";
import { objectAt } from "../wire/json.js";
import { MAX_NAME_LENGTH } from "../wire/length-limits.js";

/** One server's key, or several that returned the same URI. */
type Owners = readonly string[];

/** The limits: number of URIs, and their total characters. */
const LIMITS = entryAndKeyLimit(10_000, 16 * 1024 * 1024);

/**
 * Per client, so that a client cannot probe for the URIs of others. Bounded: an evicted URI is routed by lists and
 * templates again.
 */
export class LearnedUris {
  readonly #owners = new LRUCache<string, Owners>(LIMITS);

  learn(affinity: string, uri: string, server: string): void {
    if (uri.length > MAX_NAME_LENGTH) return;
    const key = keyOf(affinity, uri);
    const known = this.#owners.get(key) ?? [];
    if (!known.includes(server)) this.#owners.set(key, [...known, server]);
  }

  owners(affinity: string, uri: string): Owners {
    return this.#owners.get(keyOf(affinity, uri)) ?? [];
  }
}

const keyOf = (affinity: string, uri: string): string => `${affinity}\0${uri}`;

/** Per client, and bounded: an app whose page was evicted can call only tools with unambiguous names. */
export class AppPageAccess {
  readonly #servers = new LRUCache<string, readonly string[]>(entryLimit(10_000));

  record(affinity: string, server: string): void {
    const known = this.#servers.get(affinity) ?? [];
    if (!known.includes(server)) this.#servers.set(affinity, [...known, server]);
  }

  /** The one of several tools with the same name that an app of the client can mean; undefined if ambiguous. */
  resolveTool(affinity: string, tools: readonly Route[]): Route | undefined {
    if (tools.length < 2) return undefined;
    const shown = this.#servers.get(affinity) ?? [];
    const [tool, second] = tools.filter(({ upstream, item }) => shown.includes(upstream) && isForApps(item));
    return second === undefined ? tool : undefined;
  }
}

/** A tool without visibility is for apps too (MCP Apps 2026-01-26, "Tool Visibility"). */
function isForApps(tool: Route["item"]): boolean {
  const visibility = objectAt(objectAt(tool, "_meta"), "ui")?.visibility;
  return !Array.isArray(visibility) || visibility.includes("app");
}
