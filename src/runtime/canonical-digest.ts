/** What is the digest of a JSON value, in any order of keys, and by which is a call known? Large values are digested in steps. */
import { createHash, type Hash, hash } from "node:crypto";
import type { Call } from "../core/call.js";
import { principalKey } from "../core/principal.js";
import { ExactNumber } from "../wire/json.js";
import { canonicalText, writeJson } from "../wire/json-text.js";
import { nowOrInSteps, type Steps, Work } from "./cooperative-yield.js";

/**
 * SHA-256 of `canonicalText(value)`, in base64. A promise only for values that take more than one step. It recurses, so
 * check the depth before.
 */
export const canonicalDigest = (value: unknown): string | Promise<string> =>
  sizeLeft(value, SMALL) > 0
    ? hash("sha256", canonicalText(value), "base64")
    : nowOrInSteps(digesting(value));

/** Characters, about, of a value that is written at once: steps take 1.5 us more. */
const SMALL = 2_048;

/** How many of `size` characters `value` does not need; zero or less if it does not fit. */
function sizeLeft(value: unknown, size: number): number {
  if (typeof value === "string") return size - value.length;
  if (!isContainer(value)) return size - (value instanceof ExactNumber ? value.source.length : MEMBER);
  let left = size - MEMBER;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left > 0; at += 1) left = sizeLeft(value[at], left - MEMBER);
    return left;
  }
  for (const key in value) {
    left = sizeLeft((value as Readonly<Record<string, unknown>>)[key], left - MEMBER - key.length);
    if (left <= 0) return left;
  }
  return left;
}

/**
 * The identity of a call, the same in each of its rounds: a digest of principal, method, server, target, arguments, and
 * `others`. Metadata, such as the progress token, differs between rounds. A promise only where the arguments are large.
 */
export const callIdentity = (
  { client, method }: Call,
  server: string | undefined,
  target: string | undefined,
  args: unknown,
  ...others: readonly (string | number)[]
): string | Promise<string> =>
  canonicalDigest([
    principalKey(client.principal),
    method,
    server ?? null,
    target ?? null,
    args ?? null,
    ...others,
  ]);

function* digesting(value: unknown): Steps<string> {
  const text = new DigestBuilder();
  yield* writeSteps(value, text);
  return text.digest();
}

/** The cost of writing a member, in characters searched. */
const MEMBER = 8;
/** Characters that are hashed together. */
const HASH_CHUNK = 65_536;

class DigestBuilder {
  readonly work = new Work();
  /** Of the chunks before `#buffered`; undefined while there are none. */
  #hash: Hash | undefined;
  #buffered = "";

  /** Adds text; true when the caller should yield. */
  add(piece: string): boolean {
    this.#buffered += piece;
    if (this.#buffered.length > HASH_CHUNK) this.#flush();
    return this.work.mustYield(MEMBER + piece.length);
  }

  digest(): string {
    if (this.#hash === undefined) return hash("sha256", this.#buffered, "base64");
    return this.#hash.update(this.#buffered).digest("base64");
  }

  #flush(): void {
    this.#hash ??= createHash("sha256");
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

/** Names sorted in one step: about 2 ms. */
const SORTED = 4_096;
/** The cost of merging a name, in characters searched. */
const MERGED = 4;

/** The sorted keys of an object. Object.keys itself cannot be split: for 150,000 members it takes about 15 ms. */
function* sortedKeys(object: object, work: Work): Steps<readonly string[]> {
  const keys = Object.keys(object);
  if (keys.length <= SORTED) return keys.sort();
  let runs: string[][] = [];
  for (let at = 0; at < keys.length; at += SORTED) {
    yield;
    runs.push(keys.slice(at, at + SORTED).sort());
  }
  while (runs.length > 1) {
    const longer: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? [], work));
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged(one: readonly string[], other: readonly string[], work: Work): Steps<string[]> {
  const all: string[] = [];
  let at = 0;
  for (const name of one) {
    for (let next = other[at]; next !== undefined && next < name; next = other[at]) {
      all.push(next);
      at += 1;
    }
    all.push(name);
    if (work.mustYield(MERGED)) yield;
  }
  return all.concat(other.slice(at));
}
