/** Writes JSON like JSON.stringify, but exact numbers as they came; for values that have some. */
import { ExactNumber } from "./exact-number.js";

export interface WriteOptions {
  /** Spaces for each level, each member on a line of its own. Default: everything on one line. */
  readonly indent?: number | undefined;
  /** What to write for each value; it is not asked about exact numbers. */
  readonly replace?: ((value: unknown) => unknown) | undefined;
}

/** @throws RangeError where `value` is nested too deeply for the stack */
export function writeExact(value: unknown, { indent = 0, replace }: WriteOptions = {}): string {
  const step = " ".repeat(indent);
  return write(value, indent === 0 ? "" : "\n") ?? "null";

  /** `margin`: what begins a line at this level. Undefined for what JSON cannot say. */
  function write(given: unknown, margin: string): string | undefined {
    if (given instanceof ExactNumber) return given.source;
    const inner = replace === undefined ? given : replace(given);
    if (typeof inner === "string") return quoted(inner);
    if (typeof inner === "number") return Number.isFinite(inner) ? String(inner) : "null";
    if (typeof inner !== "object" || inner === null) return JSON.stringify(inner);
    if (Array.isArray(inner)) return list(inner, margin);
    return "toJSON" in inner && typeof inner.toJSON === "function"
      ? JSON.stringify(inner)
      : members(inner as Readonly<Record<string, unknown>>, margin);
  }

  function list(elements: readonly unknown[], margin: string): string {
    if (elements.length === 0) return "[]";
    const line = margin + step;
    // Joined and not added up: a rope of a million pieces takes longer to collect than to write.
    const texts: string[] = [];
    for (let at = 0; at < elements.length; at++) texts.push(write(elements[at], line) ?? "null");
    return `[${line}${texts.join(`,${line}`)}${margin}]`;
  }

  function members(object: Readonly<Record<string, unknown>>, margin: string): string {
    const line = margin + step;
    const colon = indent === 0 ? ":" : ": ";
    let text = "";
    for (const key of Object.keys(object)) {
      const inner = write(object[key], line);
      if (inner !== undefined) text += `${text === "" ? "{" : ","}${line}${quoted(key)}${colon}${inner}`;
    }
    return text === "" ? "{}" : `${text}${margin}}`;
  }
}

/** Most strings are written as they are, which is quicker found out than asked for. */
const quoted = (text: string): string =>
  text.length <= SHORT && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);

const SHORT = 64;
/** Without what JSON.stringify escapes: quotes, backslashes, control characters, and surrogates, which may stand alone. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;
