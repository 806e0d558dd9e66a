/** Formats numbers and times for people. */

/** `12,345` */
export const grouped = (value: number): string => value.toLocaleString("en-US");

/** A time span: `12 s`, `5 min`. */
export function spanOf(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** Milliseconds: `0.4 ms`, `12 ms`, `1.3 s`. */
export function msOf(ms: number): string {
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 90_000 ? `${(ms / 1_000).toFixed(1)} s` : spanOf(ms / 1_000);
}

/** A size: `812 B`, `12 kB`, `1.3 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A rate: `0.3/s`, `12/s`. */
export const perSecond = (rate: number): string => `${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`;

/** `one tool`, `2 tools` */
export const countOf = (count: number, word: string): string =>
  `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;

/** A moment: `14:03:22` today, `27 Nov, 14:03:22` on another day. In words of the page, whatever the browser speaks. */
export function timeOf(at: number | string, now = Date.now()): string {
  const moment = new Date(at);
  const time = moment.toLocaleTimeString("en-GB", { hour12: false });
  if (moment.toDateString() === new Date(now).toDateString()) return time;
  return `${moment.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${time}`;
}

/** How long ago, such as `5 min`. */
export const ageOf = (at: number | string, now = Date.now()): string =>
  spanOf((now - new Date(at).getTime()) / 1_000);

/** When a moment comes: `in 5 min`, or `now`. */
export function untilOf(at: number | string, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1_000;
  return seconds < 1 ? "now" : `in ${spanOf(seconds)}`;
}

/** Truncates text to `length` characters. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;

/** `needs_sign_in` as `needs sign in`. */
export const words = (name: string): string => name.replaceAll("_", " ");

/** Anything that a server sent instead of text, as text. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** The value of the input field `name`. */
export function typed(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value : "";
}
