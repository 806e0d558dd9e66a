/** What is read from the headers of an HTTP response. */
import type { Headers } from "./channel.js";

/**
 * Names and values as they came, by turns, and read only when somebody asks: of nearly every answer that is its
 * content type alone, and to make an object of all of them cost 1.5 µs a call.
 */
export class ResponseHeaders {
  readonly #raw: readonly Buffer[];

  constructor(raw: readonly Buffer[]) {
    this.#raw = raw;
  }

  /** By the name in lower case; joined with commas where it came several times (RFC 9110, 5.3). */
  get(name: string): string | undefined {
    let value: string | undefined;
    for (let at = 0; at + 1 < this.#raw.length; at += 2) {
      const key = this.#raw[at] as Buffer;
      if (key.length !== name.length || key.toString("latin1").toLowerCase() !== name) continue;
      const text = (this.#raw[at + 1] as Buffer).toString("latin1");
      value = value === undefined ? text : `${value}, ${text}`;
    }
    return value;
  }

  /** All of them, as one string each. */
  get all(): Headers {
    const all = new Map<string, string>();
    for (let at = 0; at + 1 < this.#raw.length; at += 2) {
      const name = (this.#raw[at] as Buffer).toString("latin1").toLowerCase();
      const value = (this.#raw[at + 1] as Buffer).toString("latin1");
      const before = all.get(name);
      all.set(name, before === undefined ? value : `${before}, ${value}`);
    }
    return Object.fromEntries(all);
  }
}

export const NO_HEADERS = new ResponseHeaders([]);

export function isEventStream(headers: ResponseHeaders): boolean {
  const type = headers.get("content-type");
  return type !== undefined && (type === "text/event-stream" || /^\s*text\/event-stream\s*(;|$)/i.test(type));
}

/** `Retry-After` in milliseconds; on the wire it is a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: ResponseHeaders, now: number = Date.now()): number | undefined {
  const header = headers.get("retry-after");
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
