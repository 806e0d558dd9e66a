/** Whose pages (MCP Apps, `ui://…`) a client has fetched: an app that runs there calls tools by its server's own names. */
import { LRUCache } from "lru-cache";
import type { Route } from "../core/call.js";
import { entryLimit } from "../runtime/cache-limits.js";
import { objectAt } from "../wire/json.js";

/** Remembered per client, and bounded: an app of a page that is forgotten has to call tools by names that are nobody else's. */
export class AppPageAccess {
  readonly #servers = new LRUCache<string, readonly string[]>(entryLimit(10_000));

  record(affinity: string, server: string): void {
    const known = this.#servers.get(affinity) ?? [];
    if (!known.includes(server)) this.#servers.set(affinity, [...known, server]);
  }

  /** Of several tools with one name the one that an app of the client can mean; undefined when that cannot be told. */
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
