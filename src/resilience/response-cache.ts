/** What a server said a while ago, as long as it said that it would hold (2026-07-28: server/utilities/caching). */
import { LRUCache } from "lru-cache";
import type { Call, Handler, Middleware, Reply } from "../core/call.js";
import type { Client } from "../core/client.js";
import { principalKey } from "../core/principal.js";
import { canonicalDigest } from "../runtime/canonical-digest.js";
import { objectAt, without } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import type { Payload } from "../wire/payload.js";
import { isRead } from "./retry.js";

interface CachedReply {
  readonly result: Payload;
  readonly scope: "public" | "private";
  /** By the monotonic clock. */
  readonly until: number;
}

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_ENTRY_BYTES = 1024 * 1024;
/** The longest lifetime, whatever the server's `ttlMs`. */
const MAX_TTL_MS = 24 * 3_600_000;

/** The replies of one server. */
export class ResponseCache {
  readonly #entries = new LRUCache<string, CachedReply>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: ({ result }, key) => result.text.length + key.length,
  });
  #generation = 0;

  /** Changes whenever everything that was said before may be wrong. */
  get generation(): number {
    return this.#generation;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  get(key: string): CachedReply | undefined {
    const kept = this.#entries.get(key);
    if (kept === undefined || kept.until > performance.now()) return kept;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, kept: CachedReply): void {
    this.#entries.set(key, kept);
  }
}

/** What the cache of a server depends on, and reports. */
export interface ResponseCacheOptions {
  /** A call was answered without its server. */
  readonly onHit?: () => void;
  /** Whether each principal has credentials of its own at the server: then no reply is for all. Default: no. */
  readonly isPrivate?: () => boolean;
  /** A text for the headers that the host of `client` sends the server: with others a reply may differ. Default: none. */
  readonly headersOf?: (client: Client) => string | undefined;
}

/**
 * Belongs around all that a server's calls go through: what is fresh costs neither a place nor an attempt. The rules
 * stand further out, so a kept reply is always one that may be had.
 */
export function responseCache(
  cache: ResponseCache,
  { onHit, isPrivate = () => false, headersOf = () => undefined }: ResponseCacheOptions = {},
): Middleware {
  return (next: Handler): Handler => {
    async function cached(call: Call): Promise<Reply> {
      // Most servers send no `ttlMs`; then no key is computed.
      const asked = cache.isEmpty ? undefined : await digestOf(call);
      const headers = headersOf(call.client);
      const isOwn = (): boolean => headers !== undefined || isPrivate();
      const known =
        asked === undefined
          ? undefined
          : ((isOwn() ? undefined : cache.get(keyOf(call, "public", asked))) ??
            cache.get(keyOf(call, "private", asked, headers)));
      if (known !== undefined) {
        onHit?.();
        const ttlMs = Math.floor(known.until - performance.now());
        return { kind: "result", result: known.result, freshness: { ttlMs, scope: known.scope } };
      }
      const { generation } = cache;
      const reply = await next(call);
      const fresh = freshOf(reply);
      const kept = fresh !== undefined && isOwn() ? { ...fresh, scope: "private" as const } : fresh;
      if (kept === undefined) return reply;
      const key = keyOf(call, kept.scope, asked ?? (await digestOf(call)), headers);
      // What was asked before a change and answered after it may be either.
      if (generation === cache.generation) cache.set(key, kept);
      return reply;
    }
    return function responseCache(call) {
      const reply = isCacheable(call) ? cached(call) : next(call);
      return headersOf(call.client) === undefined ? reply : reply.then(asPrivate);
    };
  };
}

/** The reply, which no cache may hold for others: they have not sent these headers. */
const asPrivate = (reply: Reply): Reply =>
  reply.kind === "result" && reply.freshness?.scope === "public"
    ? { ...reply, freshness: { ...reply.freshness, scope: "private" } }
    : reply;

/** What is kept of a reply; undefined where it is nothing. */
function freshOf(reply: Reply): CachedReply | undefined {
  if (reply.kind !== "result" || reply.refusal !== undefined || reply.freshness === undefined)
    return undefined;
  const { ttlMs, scope } = reply.freshness;
  if (!(ttlMs > 0) || reply.result.object.isError === true) return undefined;
  return { result: reply.result, scope, until: performance.now() + Math.min(ttlMs, MAX_TTL_MS) };
}

/** Members of `_meta` that do not change the result. */
const TRACE_KEYS = ["traceparent", "tracestate", "baggage"];

/** Calls that request progress, log messages or a task must reach the server. */
function isCacheable(call: Call): boolean {
  if (call.inputResponses !== undefined || call.logLevel !== undefined || !isRead(call)) return false;
  if (call.extraHeaders !== undefined && Object.keys(call.extraHeaders).length > 0) return false;
  if (Object.hasOwn(call.params, "task")) return false;
  const meta = objectAt(call.params, "_meta");
  return meta === undefined || Object.keys(without(meta, TRACE_KEYS)).length === 0;
}

/** The cache key. It contains the host's capabilities, which may change the result. A promise only for large parameters. */
const digestOf = ({ client, method, params }: Call): string | Promise<string> =>
  canonicalDigest([client.capabilities, method, without(params, ["_meta"])]);

/** What is private is one principal's, with the headers of its host. */
function keyOf({ client }: Call, scope: CachedReply["scope"], asked: string, headers?: string): string {
  const principal = principalKey(client.principal);
  const own = headers === undefined ? principal : [principal, headers];
  return `${writeJson(scope === "private" ? own : null)} ${asked}`;
}
