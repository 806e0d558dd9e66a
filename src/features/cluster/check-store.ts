/** `cardea doctor`: checks the permissions of this user at the store, and whether the store keeps its data. */
import type { Finding } from "../../core/replicas.js";
import type { StoreScript } from "../../core/shared-store.js";
import type { OpenStore } from "./store.js";

/** Input of the checks. */
export interface CheckStoreOptions {
  /** The prefix of all its keys and channels. */
  readonly prefix: string;
  readonly username?: string;
  /** The time of day in ms. */
  readonly now: () => number;
  /** Whether the store holds the sign-ins. */
  readonly keepsSignIns: boolean;
}

/** TTL of the keys that the checks write, in ms. */
const TTL_MS = 10_000;
/** A command slower than this (ms) is a finding: the deadline of a command is 250 ms. */
const SLOW_MS = 50;
const SKEW_MS = 30_000;
const ROUND_TRIPS = 5;
/** Timeout (ms) of a message on a channel. */
const HINT_MS = 1_000;
const HINT_AGAIN_MS = 50;
/** The oldest release of Redis that has all commands of the scripts; Valkey reports a compatible one. */
const OLDEST = [6, 2] as const;
const KEEPING = ["noeviction", "volatile-ttl"];

/** Reads, writes and reads the time, like the scripts of limits, sessions and registrations. */
const TRY_SCRIPT: StoreScript = {
  name: "doctor.try",
  text: `local t = redis.call('TIME')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'at', t[1])
local at = redis.call('HGET', KEYS[1], 'at')
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], 1, 'one')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[1])
return at`,
};

/** The findings about a connected store. Its keys and channels begin with `doctor:` and are deleted afterwards. */
export async function checkStore(
  store: OpenStore,
  { prefix, username = "default", now, keepsSignIns }: CheckStoreOptions,
): Promise<Finding> {
  try {
    const refused = await refusals(store);
    if (refused.length > 0)
      return {
        about: "store",
        ok: false,
        sentence: `it refuses user ${username} what replicas need: ${refused.join("; ")}`,
        advice: `ACL SETUSER ${username} ~${prefix}:* &${prefix}:* +@read +@write +@scripting +@pubsub -@dangerous +ping +time +info`,
      };
    const took = await roundTripMs(store);
    const skewMs = (await storeTimeMs(store)) - now();
    const { sentence, isOld, remarks } = await infoOf(store, took, keepsSignIns);
    const advice = [
      ...remarks,
      ...(took > SLOW_MS ? ["it is slow: a use that takes 250 ms counts as an outage"] : []),
      ...(Math.abs(skewMs) > SKEW_MS
        ? [`its clock differs by ${inSeconds(skewMs)}: limits count by its clock alone, but logs do not`]
        : []),
    ];
    return {
      about: "store",
      ok: !isOld,
      sentence,
      ...(advice.length > 0 && { advice: advice.join("; ") }),
    };
  } catch (error) {
    return { about: "store", ok: false, sentence: `it stopped answering: ${messageOf(error)}` };
  }
}

/** The commands that the store refuses, with its error: one of each kind that replicas use. */
async function refusals(store: OpenStore): Promise<readonly string[]> {
  const key = `doctor:{${Math.random().toString(36).slice(2)}}`;
  const tries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["PING", () => store.command(["PING"])],
    ["TIME", () => store.command(["TIME"])],
    ["SET", () => store.set(key, "1", TTL_MS)],
    ["SET NX", () => store.setIfAbsent(key, "1", TTL_MS)],
    ["GET", () => store.get(key)],
    ["DEL", () => store.delete(key)],
    ["scripts", () => store.run(TRY_SCRIPT, [key], [String(TTL_MS)])],
  ];
  const refused: string[] = [];
  for (const [what, use] of tries) {
    try {
      await use();
    } catch (error) {
      if (!store.isUp) throw error;
      refused.push(`${what} (${messageOf(error)})`);
    }
  }
  if (!(await hintReturns(store, key))) refused.push("PUBLISH and SUBSCRIBE (no message came back)");
  return refused;
}

/** Whether a published message arrives. */
async function hintReturns(store: OpenStore, channel: string): Promise<boolean> {
  let again: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;
  let end: (() => void) | undefined;
  try {
    return await new Promise<boolean>((resolve) => {
      end = store.subscribe(channel, () => resolve(true));
      // The subscription connects in the background.
      again = setInterval(() => store.publish(channel, "1"), HINT_AGAIN_MS);
      late = setTimeout(() => resolve(false), HINT_MS);
    });
  } finally {
    clearInterval(again);
    clearTimeout(late);
    end?.();
  }
}

/** The median. */
async function roundTripMs(store: OpenStore): Promise<number> {
  const took: number[] = [];
  for (let at = 0; at < ROUND_TRIPS; at += 1) {
    const start = performance.now();
    await store.command(["PING"]);
    took.push(performance.now() - start);
  }
  return took.sort((a, b) => a - b)[Math.floor(ROUND_TRIPS / 2)] ?? 0;
}

async function storeTimeMs(store: OpenStore): Promise<number> {
  const [seconds, micros] = (await store.command(["TIME"])) as readonly [unknown, unknown];
  return Number(seconds) * 1000 + Number(micros) / 1000;
}

interface StoreInfo {
  readonly sentence: string;
  readonly isOld: boolean;
  readonly remarks: readonly string[];
}

/** The findings from INFO about version and eviction; a hosted store may refuse INFO. */
async function infoOf(store: OpenStore, took: number, keepsSignIns: boolean): Promise<StoreInfo> {
  const speed = `in ${took < 10 ? took.toFixed(1) : Math.round(took)} ms`;
  let text: string;
  try {
    text = String(await store.command(["INFO"]));
  } catch (error) {
    if (!store.isUp) throw error;
    const remark = `its version and maxmemory-policy cannot be checked, as it refuses INFO: ${messageOf(error)}`;
    return { sentence: `it answers ${speed}`, isOld: false, remarks: [remark] };
  }
  return readInfo(text, speed, keepsSignIns);
}

/** The same, from the text of INFO. */
export function readInfo(text: string, speed: string, keepsSignIns: boolean): StoreInfo {
  const lines = new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const at = line.indexOf(":");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
    }),
  );
  const version = lines.get("redis_version") ?? "";
  const valkey = lines.get("valkey_version");
  const name = valkey === undefined ? `Redis ${version || "of an unknown version"}` : `Valkey ${valkey}`;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = version !== "" && (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]));
  const policy = lines.get("maxmemory_policy");
  const remarks = [
    ...(isOld ? ["replicas need Redis 6.2, Valkey 7.2, or later"] : []),
    ...(policy === undefined || KEEPING.includes(policy)
      ? []
      : [
          `its maxmemory-policy is ${policy}: a bucket of a limit that it evicts is full again, and a record of a session is lost; set noeviction or volatile-ttl`,
        ]),
    ...(keepsSignIns && lines.get("aof_enabled") === "0"
      ? [
          "it keeps the sign-ins and does not persist: each person signs in again after its restart; set appendonly yes",
        ]
      : []),
  ];
  return { sentence: `it answers ${speed}: ${name}`, isOld, remarks };
}

/** Formats for messages. */
export const inSeconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

/** For messages: errors of sockets may have a code only. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message === "" ? (code ?? error.name) : error.message;
}
