/** How `tools/list` and the other list methods are answered from the catalog; no server is called. */
import type { Catalog } from "../catalog/catalog.js";
import { type Cursor, readCursor } from "../catalog/pagination.js";
import type { Handler } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { LIST_METHODS, type ListKind } from "../core/lists.js";
import type { JsonObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";

/** @throws GatewayError with -32602 for a cursor that this gateway did not write. */
export function listHandler(catalog: Pick<Catalog, "view" | "prepare" | "freshness">): Handler {
  return async function answerLists(call) {
    const kind = LIST_METHODS.get(call.method);
    if (kind === undefined) throw new TypeError(`${call.method} is not a list`);
    const cursor = cursorOf(kind, call.params);
    await catalog.prepare(call.client);
    return {
      kind: "result",
      result: catalog.view(call.client).list(kind).page(cursor),
      freshness: catalog.freshness(call.client, kind),
    };
  };
}

/**
 * An empty cursor is a cursor (2026-07-28: server/utilities/pagination), which the gateway never issues; it
 * means the first page.
 */
function cursorOf(kind: ListKind, params: JsonObject): Cursor | undefined {
  const text = Object.hasOwn(params, "cursor") ? params.cursor : undefined;
  if (text === undefined || text === null || text === "") return undefined;
  const cursor = typeof text === "string" ? readCursor(text) : undefined;
  if (cursor?.kind === kind) return cursor;
  throw new GatewayError("bad_request", "downstream", "this cursor was not given out for this list", {
    rpc: CODE.invalidParams,
  });
}
