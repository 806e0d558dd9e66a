/** What do the headers of an HTTP response say? */
import type { Headers } from "./channel.js";

/** By name in lower case; a list where the header came several times. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** No response headers. */
export const NO_HEADERS: ResponseHeaders = {};

/** One header by its name in lower case; values of a repeated header are joined with commas (RFC 9110, 5.3). */
export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  // A name such as `constructor` is none of the object's own.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value === undefined || typeof value === "string" ? value : value.join(", ");
}

/** All headers, as one string each. */
export const singleValued = (headers: ResponseHeaders): Headers =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, headerOf(headers, name) ?? ""]));

/** Whether the content type is `text/event-stream`. */
export function isEventStream(headers: ResponseHeaders): boolean {
  const type = headerOf(headers, "content-type");
  return type !== undefined && (type === "text/event-stream" || /^\s*text\/event-stream\s*(;|$)/i.test(type));
}

/** `Retry-After` in milliseconds; on the wire it is a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: ResponseHeaders, now: number = Date.now()): number | undefined {
  const header = headerOf(headers, "retry-after");
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
