/** Whose pages (MCP Apps, `ui://…`) a client has fetched: an app that runs there calls tools by its server's own names. */
import { LRUCache } from "lru-cache";
import type { Route } from "../core/call.js";
import { entryLimit } from "../runtime/cache-limits.js";
import { objectAt } from "../wire/json.js";

/** Per client, and bounded: an app whose page is forgotten can call only tools with unambiguous names. */
export class AppPageAccess {
  readonly #servers = new LRUCache<string, readonly string[]>(entryLimit(10_000));

  record(affinity: string, server: string): void {
    const known = this.#servers.get(affinity) ?? [];
    if (!known.includes(server)) this.#servers.set(affinity, [...known, server]);
  }

  /**
   * The one of several tools with the same name that an app of the client can mean; undefined when that is
   * ambiguous.
   */
  resolveTool(affinity: string, tools: readonly Route[]): Route | undefined {
    if (tools.length < 2) return undefined;
    const shown = this.#servers.get(affinity) ?? [];
    const [tool, second] = tools.filter(({ upstream, item }) => shown.includes(upstream) && isForApps(item));
    return second === undefined ? tool : undefined;
  }
}

/** A tool that does not say who may call it is for apps too (MCP Apps 2026-01-26, "Tool Visibility"). */
function isForApps(tool: Route["item"]): boolean {
  const visibility = objectAt(objectAt(tool, "_meta"), "ui")?.visibility;
  return !Array.isArray(visibility) || visibility.includes("app");
}
