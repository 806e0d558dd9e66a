/** What finds secrets and personal data in a text, and what does it say of it? */

/** What `redact.detect` may name. */
export const DETECTED_KINDS = ["secrets", "email", "card", "iban", "phone"] as const;
/** One of them. */
export type DetectedKind = (typeof DETECTED_KINDS)[number];

/** Part of a text that is to be taken out: from `start` to before `end`, in UTF-16 code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Part of a text in which something may begin. */
export interface Window {
  /** The whole text: what begins in the window may end behind it. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** Finds all of one kind that begin in a window; in time linear in its length. */
export type Detector = (window: Window) => Iterable<Span>;

/** No place where something begins is longer than this (in code units), so that windows need to overlap by this only. */
const LONGEST_BEGINNING = 160;

/**
 * Where `beginnings` matches in the window. Each alternative of the expression has a bounded length, so that the time is
 * linear.
 *
 * @param beginnings with the flag `g`
 */
export function* placesOf(beginnings: RegExp, { text, from, to }: Window): Generator<number> {
  // A copy of the window: a search in the whole text would read all that is behind it, for each window.
  const part = text.slice(from, to + LONGEST_BEGINNING);
  beginnings.lastIndex = 0;
  for (let match = beginnings.exec(part); match !== null; match = beginnings.exec(part)) {
    const { index } = match;
    if (from + index >= to) return;
    yield from + index;
    // Beginnings may overlap, and another search may have used the expression meanwhile.
    beginnings.lastIndex = index + 1;
  }
}

/** The match of `shape` that begins exactly at `at`. @param shape with the flag `y` */
export function matchAt(shape: RegExp, text: string, at: number): RegExpExecArray | undefined {
  shape.lastIndex = at;
  return shape.exec(text) ?? undefined;
}

/** Whether a token may begin at `at`: behind no letter or digit, unless they are an escape such as `%3D` or `\n`. */
export function startsToken(text: string, at: number): boolean {
  if (at === 0 || !/[A-Za-z0-9]/.test(text.charAt(at - 1))) return true;
  return /%[0-9A-Fa-f]{2}$|\\[nrt]$|\\u[0-9A-Fa-f]{4}$/.test(text.slice(Math.max(0, at - 6), at));
}
