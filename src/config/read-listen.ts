/** What does a config say of listeners, and of calls that are parked? */
import { addressRanges } from "../http/address-ranges.js";
import type { Config } from "./config.js";
import type { ListenOverrides } from "./read.js";
import type { FileShape } from "./schema.js";
import { parseDuration } from "./units.js";

/** How many calls are parked, and for how long. */
export function parkedCallsOf({ answerTimeout, ...counts }: FileShape["parkedCalls"]): Config["parkedCalls"] {
  return { ...counts, answerMs: milliseconds(answerTimeout) };
}

function milliseconds(duration: string): number {
  const ms = parseDuration(duration);
  if (ms === undefined) throw new RangeError("the schema let a duration pass that is none");
  return ms;
}

/** The listeners, as flags and the environment override them. */
export function listenOf(
  { listen }: { readonly listen: FileShape["listen"] },
  overrides: ListenOverrides,
): Config["listen"] {
  const { trustedProxies, keepAliveTimeout, serverCard, ...http } = listen.http;
  const publicUrl = http.publicUrl?.replace(/\/+$/, "");
  const { allowedHosts } = http;
  const trusted = trustedProxies.map(addressRanges).filter((ranges) => typeof ranges !== "string");
  return {
    http: {
      ...http,
      keepAliveMs: milliseconds(keepAliveTimeout),
      ...(serverCard !== false && { serverCard: serverCard === true ? {} : serverCard }),
      ...(trusted.length > 0 && { trustedProxies: trusted.flat() }),
      ...(publicUrl !== undefined && { publicUrl, allowedHosts: [...allowedHosts, new URL(publicUrl).host] }),
      host: overrides.host ?? listen.http.host,
      port: overrides.port ?? Number(listen.http.port),
      insecure: overrides.insecure ?? listen.http.insecure,
    },
  };
}
