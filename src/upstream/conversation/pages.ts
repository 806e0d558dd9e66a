/** Walks all pages of a list that a server hands out piece by piece, and knows when to stop. */
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { ListKind } from "../../core/upstream.js";
import { isObject, type JsonObject } from "../../wire/json.js";

/** The method that lists each kind, the key its items stand under, and the capability that offers it. */
export const LISTS: Readonly<
  Record<ListKind, { readonly method: string; readonly key: string; readonly capability: string }>
> = {
  tools: { method: "tools/list", key: "tools", capability: "tools" },
  prompts: { method: "prompts/list", key: "prompts", capability: "prompts" },
  resources: { method: "resources/list", key: "resources", capability: "resources" },
  resourceTemplates: {
    method: "resources/templates/list",
    key: "resourceTemplates",
    capability: "resources",
  },
};

/** A server that still has a cursor after so many pages is taken to be going round in circles. */
const MAX_PAGES = 1_000;

export interface PageWalk {
  readonly server: string;
  readonly kind: ListKind;
  readonly log: Logger;
  /** Asks for one page; the first has no cursor. */
  readonly readPage: (cursor: string | undefined) => Promise<JsonObject>;
}

/**
 * All items of all pages, in order. A cursor that comes a second time, or a page too many, ends the walk with
 * what is there: half a list serves people better than none, and the log says so.
 *
 * @throws GatewayError when a page is not a list, or what `readPage` throws.
 */
export async function walkPages(walk: PageWalk): Promise<{
  readonly items: readonly JsonObject[];
  readonly pages: readonly JsonObject[];
}> {
  const { key, method } = LISTS[walk.kind];
  const seen = new Set<string>();
  const items: JsonObject[] = [];
  const pages: JsonObject[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await walk.readPage(cursor);
    const found = page[key];
    if (!Array.isArray(found)) {
      throw new GatewayError(
        "upstream_closed",
        "upstream",
        `${walk.server} answered ${method} without a list`,
        {
          server: walk.server,
        },
      );
    }
    pages.push(page);
    for (const item of found) if (isObject(item)) items.push(item);
    // An empty string is a cursor like any other (spec 2026-07-28: server/utilities/pagination).
    const next = page.nextCursor;
    if (typeof next !== "string") return { items, pages };
    if (seen.has(next) || pages.length >= MAX_PAGES) {
      walk.log.warn(
        { server: walk.server, list: walk.kind, pages: pages.length },
        "the server's cursors go round in circles; the list was cut",
      );
      return { items, pages };
    }
    seen.add(next);
    cursor = next;
  }
}
