/** What is read from the headers of an HTTP response. */
import type { Headers } from "./channel.js";

/** By name in lower case; a list where the header came several times. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export function isEventStream(headers: ResponseHeaders): boolean {
  const type = headers["content-type"];
  return (
    typeof type === "string" && (type === "text/event-stream" || /^\s*text\/event-stream\s*(;|$)/i.test(type))
  );
}

export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(", ") : value;
}

/** All of them, as one string each. */
export function flat(headers: ResponseHeaders): Headers {
  const names = Object.keys(headers);
  return Object.fromEntries(names.map((name) => [name, headerOf(headers, name) ?? ""]));
}

/** `Retry-After` in milliseconds; on the wire it is a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: ResponseHeaders, now: number = Date.now()): number | undefined {
  const header = headerOf(headers, "retry-after");
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
