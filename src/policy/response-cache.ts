/** What a server said a while ago, as long as it said that it would hold (2026-07-28: server/utilities/caching). */
import { LRUCache } from "lru-cache";
import type { Call, Reply } from "../core/call.js";
import type { Handler, Middleware } from "../core/handler.js";
import { canonicalText } from "../wire/canonical.js";
import { objectAt, without } from "../wire/json.js";
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
      const known = cache.isEmpty
        ? undefined
        : (cache.get(keyOf(call, "public")) ?? cache.get(keyOf(call, "private")));
      if (known !== undefined) {
        onHit?.();
        const ttlMs = Math.floor(known.until - performance.now());
        return { kind: "result", result: known.result, freshness: { ttlMs, scope: known.scope } };
      }
      const { turn } = cache;
      const reply = await next(call);
      // What was asked before a change and answered after it may be either.
      if (turn === cache.turn) keep(call, reply);
      return reply;
    }
    return function responseCache(call) {
      return isCacheable(call) ? remembered(call) : next(call);
    };
  };

  function keep(call: Call, reply: Reply): void {
    if (reply.kind !== "result" || reply.refusal !== undefined || reply.freshness === undefined) return;
    const { ttlMs, scope } = reply.freshness;
    if (!(ttlMs > 0) || reply.result.object.isError === true) return;
    const until = performance.now() + Math.min(ttlMs, LONGEST_MS);
    cache.keep(keyOf(call, scope), { result: reply.result, scope, until });
  }
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

/** What is private is one principal's. Servers may answer by what a host can do, so that is part of every key. */
function keyOf({ client, method, params }: Call, scope: "public" | "private"): string {
  const owner = scope === "private" ? client.principal.id : null;
  return canonicalText([owner, client.capabilities, method, without(params, ["_meta"])]);
}
