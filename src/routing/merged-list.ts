/** How a list that several servers return page by page is merged, under cursors of the gateway. */
import { type Call, type Freshness, mergedFreshness, NOT_CACHEABLE, type Reply } from "../core/call.js";
import { cursorIn } from "../core/check-params.js";
import { GatewayError } from "../core/errors.js";
import { Stop } from "../core/stop.js";
import { isObject, type JsonObject, stringAt, without } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { Payload } from "../wire/payload.js";
import type { Send } from "./router.js";

/** One request for a merged list. */
export interface MergedListOptions {
  readonly call: Call;
  /** The servers with a part of the list, in the order of the config. */
  readonly servers: readonly string[];
  /** The member of a result that holds the items. */
  readonly member: string;
  readonly send: Send;
  /** An item as the client may see it; undefined when it may not. */
  readonly show: (server: string, item: JsonObject) => JsonObject | undefined;
}

/** Items after which a page ends; a page of a server is never cut. */
const PAGE_ITEMS = 100;
/** Pages of one server that are read for one merged page: all items of a page may be hidden. */
const MAX_PAGES = 20;
/** Time limit (ms) for one of several servers. */
const SERVER_TIMEOUT_MS = 10_000;

/**
 * Requests the list of all servers in parallel and reads their pages in order. A server that fails or times
 * out is left out; when all fail, the reply is the first failure.
 *
 * @throws GatewayError -32602 for a foreign cursor, and what `send` throws when all servers fail.
 */
export async function mergedList(options: MergedListOptions): Promise<Reply> {
  const { servers, member, show } = options;
  const start = startOf(options);
  const from = start === undefined ? 0 : servers.indexOf(start.server);
  const asked = servers
    .slice(from)
    .map((server, at) => fetchPage(options, server, at === 0 ? start?.serverCursor : undefined));
  const items: JsonObject[] = [];
  const parts: Freshness[] = [];
  const failures: FailedPage[] = [];
  let rest: JsonObject = {};
  let next: MergedCursor | undefined;
  for (const [at, server] of servers.slice(from).entries()) {
    const after = servers[from + at + 1];
    let page = await asked[at];
    for (let pages = 1; page?.kind === "page"; pages += 1) {
      for (const item of page.items) {
        const shown = show(server, item);
        if (shown !== undefined) items.push(shown);
      }
      parts.push(page.freshness);
      rest = page.rest;
      if (page.next === undefined) break;
      next = { server, serverCursor: page.next };
      if (items.length >= PAGE_ITEMS || pages >= MAX_PAGES) break;
      next = undefined;
      page = await fetchPage(options, server, page.next);
    }
    if (page?.kind === "failed") failures.push(page);
    if (next === undefined && items.length >= PAGE_ITEMS && after !== undefined) next = { server: after };
    if (next !== undefined) break;
  }
  const [failure] = failures;
  if (parts.length === 0 && failure !== undefined) return failure.replyOrThrow();
  const whole = mergedFreshness(parts);
  return {
    kind: "result",
    result: Payload.ofObject({
      ...(servers.length === 1 && rest),
      [member]: items,
      ...(next !== undefined && { nextCursor: writeCursor(member, next) }),
    }),
    // All pages must have the same scope; pages of several servers would have different ones.
    freshness: {
      ttlMs: failure === undefined ? whole.ttlMs : 0,
      scope: servers.length === 1 ? whole.scope : "private",
    },
  };
}

interface Page {
  readonly kind: "page";
  readonly items: readonly JsonObject[];
  readonly next: string | undefined;
  /** The other members of the result. */
  readonly rest: JsonObject;
  readonly freshness: Freshness;
}
interface FailedPage {
  readonly kind: "failed";
  /** @throws the error of the request, if it threw. */
  readonly replyOrThrow: () => Reply;
}

/** Never rejects. */
async function fetchPage(
  { call, servers, member, send }: MergedListOptions,
  server: string,
  cursor: string | undefined,
): Promise<Page | FailedPage> {
  const giveUp = new Stop();
  const stop = (): void => giveUp.abort(call.signal.reason);
  const timer =
    servers.length > 1 ? setTimeout(() => giveUp.abort(tooSlow(server)), SERVER_TIMEOUT_MS) : undefined;
  call.signal.addEventListener("abort", stop, { once: true });
  if (call.signal.aborted) stop();
  try {
    const params = { ...without(call.params, ["cursor"]), ...(cursor !== undefined && { cursor }) };
    const reply = await send(server, { ...call, signal: giveUp.signal }, params);
    if (reply.kind !== "result") return { kind: "failed", replyOrThrow: () => reply };
    const { object } = reply.result;
    const given: unknown = object[member];
    const next = stringAt(object, "nextCursor");
    return {
      kind: "page",
      items: Array.isArray(given) ? given.filter(isObject) : [],
      // A cursor that leads back to the same page would loop.
      next: next === cursor ? undefined : next,
      rest: without(object, [member, "nextCursor"]),
      freshness: reply.freshness ?? NOT_CACHEABLE,
    };
  } catch (error) {
    return {
      kind: "failed",
      replyOrThrow: () => {
        throw error;
      },
    };
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", stop);
  }
}

const tooSlow = (server: string): GatewayError =>
  new GatewayError("timed_out", "upstream", `${server} did not list in time`, { server, retryable: true });

/** Where a page begins: the server, and its own cursor. */
interface MergedCursor {
  readonly server: string;
  readonly serverCursor?: string;
}

const startOf = ({ call, servers, member }: MergedListOptions): MergedCursor | undefined =>
  cursorIn(call.params, (text) => {
    const cursor = readCursor(member, text);
    return cursor !== undefined && servers.includes(cursor.server) ? cursor : undefined;
  });

function writeCursor(member: string, { server, serverCursor }: MergedCursor): string {
  return Buffer.from(writeJson([member, server, serverCursor ?? null]), "utf8").toString("base64url");
}

/** Undefined for a cursor that the gateway did not write. */
function readCursor(member: string, text: string): MergedCursor | undefined {
  let fields: unknown;
  try {
    fields = parseJson(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields)) return undefined;
  const [of, server, serverCursor] = fields as readonly unknown[];
  if (
    of !== member ||
    typeof server !== "string" ||
    (serverCursor !== null && typeof serverCursor !== "string")
  )
    return undefined;
  const cursor = { server, ...(serverCursor !== null && { serverCursor }) };
  // Only the canonical text is accepted: other texts that decode to the same cursor were not written here.
  return writeCursor(member, cursor) === text ? cursor : undefined;
}
