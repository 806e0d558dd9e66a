/** What a server said a while ago, as long as it said that it would hold (2026-07-28: server/utilities/caching). */
import { LRUCache } from "lru-cache";
import type { Call, Reply } from "../core/call.js";
import { canonicalDigest } from "../core/canonical-digest.js";
import type { Handler, Middleware } from "../core/handler.js";
import { objectAt, without } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import type { Payload } from "../wire/payload.js";
import { isRead } from "./repeatable.js";

interface Kept {
  readonly result: Payload;
  readonly scope: "public" | "private";
  /** By the monotonic clock. */
  readonly until: number;
}

const MOST_BYTES = 16 * 1024 * 1024;
const LARGEST_BYTES = 1024 * 1024;
/** However long a server says: it may have been wrong. */
const LONGEST_MS = 24 * 3_600_000;

/** The replies of one server. */
export class ResponseCache {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MOST_BYTES,
    maxEntrySize: LARGEST_BYTES,
    sizeCalculation: ({ result }, key) => result.text.length + key.length,
  });
  #turn = 0;

  /** Changes whenever everything that was said before may be wrong. */
  get turn(): number {
    return this.#turn;
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  clear(): void {
    this.#turn += 1;
    this.#kept.clear();
  }

  get(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || kept.until > performance.now()) return kept;
    this.#kept.delete(key);
    return undefined;
  }

  keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
  }
}

/**
 * Belongs around all that a server's calls go through: what is fresh costs neither a place nor an attempt. The rules
 * stand further out, so a kept reply is always one that may be had.
 *
 * @param onHit a call was answered without its server
 */
export function responseCache(cache: ResponseCache, onHit?: () => void): Middleware {
  return (next: Handler): Handler => {
    async function remembered(call: Call): Promise<Reply> {
      // Most servers say of nothing how long it holds; then nobody makes a key.
      const asked = cache.isEmpty ? undefined : await digestOf(call);
      const known =
        asked === undefined
          ? undefined
          : (cache.get(keyOf(call, "public", asked)) ?? cache.get(keyOf(call, "private", asked)));
      if (known !== undefined) {
        onHit?.();
        const ttlMs = Math.floor(known.until - performance.now());
        return { kind: "result", result: known.result, freshness: { ttlMs, scope: known.scope } };
      }
      const { turn } = cache;
      const reply = await next(call);
      const kept = freshOf(reply);
      if (kept === undefined) return reply;
      const key = keyOf(call, kept.scope, asked ?? (await digestOf(call)));
      // What was asked before a change and answered after it may be either.
      if (turn === cache.turn) cache.keep(key, kept);
      return reply;
    }
    return function responseCache(call) {
      return isCacheable(call) ? remembered(call) : next(call);
    };
  };
}

/** What is kept of a reply; undefined where it is nothing. */
function freshOf(reply: Reply): Kept | undefined {
  if (reply.kind !== "result" || reply.refusal !== undefined || reply.freshness === undefined)
    return undefined;
  const { ttlMs, scope } = reply.freshness;
  if (!(ttlMs > 0) || reply.result.object.isError === true) return undefined;
  return { result: reply.result, scope, until: performance.now() + Math.min(ttlMs, LONGEST_MS) };
}

/** Members of `_meta` that say nothing of what is asked for. */
const TRACES = ["traceparent", "tracestate", "baggage"];

/** Whoever wants progress or log messages wants the work done; a task is something that is begun. */
function isCacheable(call: Call): boolean {
  if (call.answers !== undefined || call.logLevel !== undefined || !isRead(call)) return false;
  if (call.extraHeaders !== undefined && Object.keys(call.extraHeaders).length > 0) return false;
  if (Object.hasOwn(call.params, "task")) return false;
  const meta = objectAt(call.params, "_meta");
  return meta === undefined || Object.keys(without(meta, TRACES)).length === 0;
}

/** What is asked for. Servers may answer by what a host can do. A promise only where it is large. */
const digestOf = ({ client, method, params }: Call): string | Promise<string> =>
  canonicalDigest([client.capabilities, method, without(params, ["_meta"])]);

/** What is private is one principal's. */
const keyOf = ({ client }: Call, scope: Kept["scope"], asked: string): string =>
  `${writeJson(scope === "private" ? client.principal.id : null)} ${asked}`;
