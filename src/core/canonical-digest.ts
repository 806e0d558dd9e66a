/** The digest of a JSON value, whatever order its keys came in; of a large one without holding others up. */
import { createHash, type Hash } from "node:crypto";
import { canonicalText } from "../wire/canonical.js";
import { ExactNumber } from "../wire/exact-number.js";
import { writeJson } from "../wire/json-text.js";
import type { Steps } from "./cooperative-yield.js";
import { sortedKeys } from "./sorted-keys.js";
import { nowOrInTurns, Work } from "./steps.js";

/**
 * SHA-256 of `canonicalText(value)`, in base64. A promise only where the value is so large that others should get their
 * turn in between; it recurses, so bound the depth before.
 */
export const canonicalDigest = (value: unknown): string | Promise<string> => nowOrInTurns(digesting(value));

function* digesting(value: unknown): Steps<string> {
  const text = new DigestBuilder();
  yield* writeSteps(value, text);
  return text.digest();
}

/** To write a member takes about as long as to search so many characters. */
const MEMBER = 8;
/** Characters that are hashed together. */
const HASH_CHUNK = 65_536;

class DigestBuilder {
  readonly work = new Work();
  readonly #hash: Hash = createHash("sha256");
  #buffered = "";

  /** True when a turn's work was done. */
  add(piece: string): boolean {
    this.#buffered += piece;
    if (this.#buffered.length > HASH_CHUNK) this.#flush();
    return this.work.isTurn(MEMBER + piece.length);
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest("base64");
  }

  #flush(): void {
    this.#hash.update(this.#buffered);
    this.#buffered = "";
  }
}

function* writeSteps(value: unknown, text: DigestBuilder): Steps<void> {
  if (!isContainer(value)) {
    if (text.add(canonicalText(value))) yield;
    return;
  }
  const isList = Array.isArray(value);
  const keys = isList ? undefined : yield* sortedKeys(value, text.work);
  const count = isList ? value.length : (keys?.length ?? 0);
  if (text.add(isList ? "[" : "{")) yield;
  for (let at = 0; at < count; at++) {
    const key = keys?.[at];
    const inner: unknown = (value as Readonly<Record<string | number, unknown>>)[key ?? at];
    const head = `${at === 0 ? "" : ","}${key === undefined ? "" : `${writeJson(key)}:`}`;
    if (isContainer(inner)) {
      if (text.add(head)) yield;
      yield* writeSteps(inner, text);
    } else if (text.add(head + canonicalText(inner))) yield;
  }
  if (text.add(isList ? "]" : "}")) yield;
}

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof ExactNumber);
