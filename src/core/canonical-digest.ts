/** The digest of a JSON value, whatever order its keys came in; of a large one without holding others up. */
import { createHash, type Hash } from "node:crypto";
import { canonicalText } from "../wire/canonical.js";
import { ExactNumber } from "../wire/exact-number.js";
import { writeJson } from "../wire/json-text.js";
import { myTurn } from "./large-work.js";

/**
 * SHA-256 of `canonicalText(value)`, in base64. A promise only where the value is so large that others should get their
 * turn in between; it recurses, so bound the depth before.
 */
export function canonicalDigest(value: unknown): string | Promise<string> {
  const text = new HashedText();
  const steps = write(value, text);
  return steps.next().done === true ? text.digest() : rest(steps, text);
}

async function rest(steps: Steps, text: HashedText): Promise<string> {
  do await myTurn();
  while (steps.next().done !== true);
  return text.digest();
}

/** Stops where others should get their turn. */
type Steps = Generator<void, void, void>;

/** Characters that are hashed together: with their writing some 4 ms. */
const HASHED = 65_536;

class HashedText {
  readonly #hash: Hash = createHash("sha256");
  #waiting = "";

  /** True when a turn's work was done. */
  add(piece: string): boolean {
    this.#waiting += piece;
    if (this.#waiting.length < HASHED) return false;
    this.#flush();
    return true;
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest("base64");
  }

  #flush(): void {
    this.#hash.update(this.#waiting);
    this.#waiting = "";
  }
}

function* write(value: unknown, text: HashedText): Steps {
  if (!isNested(value)) {
    if (text.add(canonicalText(value))) yield;
    return;
  }
  const isList = Array.isArray(value);
  const keys = isList ? undefined : Object.keys(value).sort();
  const count = isList ? value.length : (keys?.length ?? 0);
  if (text.add(isList ? "[" : "{")) yield;
  for (let at = 0; at < count; at++) {
    const key = keys?.[at];
    const inner: unknown = (value as Readonly<Record<string | number, unknown>>)[key ?? at];
    const head = `${at === 0 ? "" : ","}${key === undefined ? "" : `${writeJson(key)}:`}`;
    if (isNested(inner)) {
      if (text.add(head)) yield;
      yield* write(inner, text);
    } else if (text.add(head + canonicalText(inner))) yield;
  }
  if (text.add(isList ? "]" : "}")) yield;
}

const isNested = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof ExactNumber);
