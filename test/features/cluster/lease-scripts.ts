/** The scripts that lease calls, in TypeScript, by a clock of the test. A test with a real Redis compares them. */
import { RETURN_MS } from "../../../src/features/cluster/lease-scripts.js";
import type { MemoryStore, ScriptInMemory } from "./memory-store.js";

interface Bucket {
  tokens: number;
  at: number;
  born: number;
  outage?: { readonly from: number; readonly ended: number; back: number };
}

const PAUSE_MS = 250;
const FOREVER_MS = 1e12;
const optional = (text: string | undefined): number | undefined =>
  text === undefined || text === "" ? undefined : Number(text);

/** `lease.rate` at the time `now` of the store. */
export function leaseRate(kept: Bucket | undefined, args: readonly string[], now: number) {
  const [
    capacity = 0,
    per = 0,
    wanted = 0,
    replicas = 1,
    spent = 0,
    unspent = 0,
    own = 0,
    alone = 0,
    ago = 0,
  ] = args.slice(0, 9).map(Number);
  const [seen, seenAt = 0] = [optional(args[9]), optional(args[10])];
  const late = optional(args[11]);
  if (late !== undefined && now > late) return { bucket: kept, answer: [-1, Math.floor(now)] as const };
  let bucket: Bucket;
  if (seen !== undefined && (kept === undefined || kept.at < seenAt))
    bucket = { tokens: Math.min(kept?.tokens ?? capacity, seen), at: seenAt, born: Math.floor(now) };
  else if (kept === undefined) bucket = { tokens: capacity, at: now - alone - ago, born: Math.floor(now) };
  else bucket = { ...kept };
  if (kept !== undefined && seen !== undefined && kept.at >= seenAt && kept.born > seenAt)
    bucket.tokens = Math.min(bucket.tokens, seen + (now - seenAt) * per);
  bucket.at = Math.min(bucket.at, now);
  if (bucket.outage !== undefined && (bucket.outage.from > now || bucket.outage.ended > now))
    delete bucket.outage;
  if (alone > 0) returned(bucket, { capacity, per, spent, unspent, own, alone, stop: now - ago });
  else if (spent > 0) {
    const owed = Math.min(bucket.tokens, 0);
    fill(bucket, capacity, per, now);
    bucket.tokens = Math.max(owed, bucket.tokens - spent);
  }
  fill(bucket, capacity, per, now);
  const { tokens } = bucket;
  const granted = tokens < 1 ? 0 : Math.min(wanted, Math.max(1, Math.floor(tokens / (2 * replicas))));
  bucket.tokens -= granted;
  bucket.at = now;
  const wait = granted === 0 ? Math.max(1, Math.ceil((1 - bucket.tokens) / per)) : 0;
  return { bucket, answer: [granted, wait, bucket.tokens.toFixed(6), Math.floor(now)] as const };
}

function fill(bucket: Bucket, capacity: number, per: number, till: number): void {
  let ms = Math.max(0, till - bucket.at);
  const { outage } = bucket;
  if (outage !== undefined && outage.back < 0.999) {
    const some = Math.min(till, outage.ended + RETURN_MS) - Math.max(bucket.at, outage.ended);
    ms -= (1 - outage.back) * Math.max(0, some);
  }
  bucket.tokens = Math.min(capacity, bucket.tokens + ms * per);
  bucket.at = Math.max(bucket.at, till);
}

interface Share {
  readonly capacity: number;
  readonly per: number;
  readonly spent: number;
  readonly unspent: number;
  readonly own: number;
  readonly alone: number;
  readonly stop: number;
}

/** A replica is back that has spent its share until `stop`. */
function returned(bucket: Bucket, { capacity, per, spent, unspent, own, alone, stop }: Share): void {
  const start = stop - alone;
  const known = bucket.outage;
  const isKnown = known !== undefined && start < known.ended && stop <= known.ended + RETURN_MS;
  if (bucket.at < stop && spent > 0 && !isKnown) {
    const gap = Math.max(bucket.at, start);
    fill(bucket, capacity, per, gap);
    bucket.tokens = Math.min(bucket.tokens, Math.max(0, capacity - (stop - gap) * per));
    bucket.outage = { from: gap, ended: stop, back: stop - gap < PAUSE_MS ? 1 : 0 };
    bucket.at = stop;
  }
  fill(bucket, capacity, per, stop);
  let double = alone;
  const { outage } = bucket;
  if (outage !== undefined) {
    const late = outage.back < 1 ? outage.ended + RETURN_MS : outage.ended;
    double = alone - Math.max(0, Math.min(stop, late) - Math.max(start, outage.from));
    outage.back += own / per;
  }
  bucket.tokens = Math.max(-capacity, bucket.tokens + Math.max(-spent, unspent - own * double));
}

/** `lease.quota`; `left` is what the window has left, in ms. */
function leaseQuota(memory: MemoryStore, key: string, args: readonly string[], now: number) {
  const [count = 0, window = 0, wanted = 0, replicas = 1, spent = 0, burst = 0, own = 0, alone = 0, ago = 0] =
    args.slice(0, 9).map(Number);
  const [seen, seenEnd = 0] = [optional(args[9]), optional(args[10])];
  const late = optional(args[11]);
  if (late !== undefined && now > late) return [-1, Math.floor(now)];
  const kept = JSON.parse(memory.get(key) ?? "null") as { used: number; end: number } | null;
  let [used, end] = [kept?.used ?? 0, kept?.end ?? 0];
  if (end <= now) {
    const isLost = seen !== undefined && seenEnd - now >= 1 && seenEnd - now <= window;
    [used, end] = isLost ? [seen, seenEnd] : [0, now + window];
  }
  const [stop, began] = [now - ago, end - window];
  if (spent > 0 && began <= stop - alone) used += spent;
  else if (spent > 0 && began < stop) used += Math.min(spent, Math.ceil(burst + own * (stop - began)));
  const rest = count - used;
  const granted = rest < 1 ? 0 : Math.min(wanted, Math.max(1, Math.floor(rest / (2 * replicas))));
  used += granted;
  memory.set(key, JSON.stringify({ used, end }), FOREVER_MS);
  return [granted, granted === 0 ? end - now : 0, end - now, used, end];
}

/** The scripts for a store in memory whose time is `now()`. */
export const leaseScripts = (now: () => number): Readonly<Record<string, ScriptInMemory>> => ({
  "lease.rate"(memory, [key = ""], args) {
    const kept = JSON.parse(memory.get(key) ?? "null") as Bucket | null;
    const { bucket, answer } = leaseRate(kept ?? undefined, args, now());
    if (bucket !== undefined) memory.set(key, JSON.stringify(bucket), FOREVER_MS);
    return answer;
  },
  "lease.quota": (memory, [key = ""], args) => leaseQuota(memory, key, args, now()),
  "lease.return"(memory, [key = ""], [count = "0", capacity = "0"]) {
    const kept = JSON.parse(memory.get(key) ?? "null") as (Bucket & { used: number }) | null;
    if (kept === null) return 0;
    if (Number(capacity) > 0) kept.tokens = Math.min(Number(capacity), kept.tokens + Number(count));
    else kept.used = Math.max(0, kept.used - Number(count));
    memory.set(key, JSON.stringify(kept), FOREVER_MS);
    return 1;
  },
});
