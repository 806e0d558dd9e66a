/** The functions of `when`: CEL's own, made to know what to do with things that are not there, and bounded. */
import type { CelFunc, CelInput, CelListType, CelValue } from "@bufbuild/cel";
import { boundedFunctions } from "./bounded-functions.js";
import { type EvaluationWork, type Library, readCost } from "./cel.js";
import type { JsonValues } from "./json-values.js";
import type { MemberReading } from "./member-twins.js";

type Cel = Library["cel"];

/** Longer texts are not searched: RE2 is linear, but linear in what a caller sends. */
const MAX_TEXT_LENGTH = 131_072;
/** More elements are not walked; and inside a walk, fewer. */
const MAX_ITERATIONS: readonly number[] = [500, 30];
/** Walks may stand inside walks, but not deeper than this. */
export const MAX_ITERATION_DEPTH = MAX_ITERATIONS.length;

/** Names that no expression can write, used by `translate`. */
export const INTERNAL = {
  member: "@member",
  index: "@index",
  has: "@has",
  truth: "@truth",
  walk: ["@walk0", "@walk1"],
  step: "@step",
} as const;

/**
 * What is not there is not less, not more, and no member of anything. Numbers are compared to the last digit, where the
 * library would round an integer to a double first.
 */
const COMPARISONS: Readonly<Record<string, (a: number | bigint, b: number | bigint) => boolean>> = {
  "_<_": (a, b) => a < b,
  "_<=_": (a, b) => a <= b,
  "_>_": (a, b) => a > b,
  "_>=_": (a, b) => a >= b,
};
/** Every JSON number is a CEL double; `args.n + 1` is accepted anyway. */
const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  "_+_": (a, b) => a + b,
  "_-_": (a, b) => a - b,
  "_*_": (a, b) => a * b,
  "_/_": (a, b) => a / b,
};
const TESTS = ["contains", "startsWith", "endsWith", "matches"];

/** The functions that conditions may call. */
export function celFunctions(
  library: Library,
  values: JsonValues,
  { work, reading }: { readonly work: EvaluationWork; readonly reading: MemberReading },
): CelFunc[] {
  const { cel } = library;
  const { CelScalar, celFunc, celMethod } = cel;
  const { BOOL, DYN, INT, NULL, STRING } = CelScalar;
  return [
    ...boundedFunctions(library, work),
    ...numberFunctions(cel),
    ...TESTS.map((name) => celMethod(name, NULL, [STRING], BOOL, () => false)),
    celFunc("@in", [DYN, NULL], BOOL, () => false),
    celFunc("!_", [NULL], BOOL, () => true),
    celFunc("size", [NULL], INT, () => 0n),
    celMethod("size", NULL, [], INT, () => 0n),
    celFunc("size", [STRING], INT, (text) => characters(work, text)),
    celMethod("size", STRING, [], INT, function () {
      return characters(work, this);
    }),
    celFunc("host", [STRING], STRING, (url) => hostOf(work, url)),
    celFunc("host", [NULL], STRING, () => ""),
    celFunc("text", [DYN], STRING, (value) => values.text(value, MAX_TEXT_LENGTH)),
    ...internalFunctions(cel, work, reading),
  ];
}

/** Comparisons and sums of numbers of two kinds, and of what is not there. */
function numberFunctions({ CelScalar, celFunc }: Cel): CelFunc[] {
  const { BOOL, DOUBLE, DYN, INT, NULL } = CelScalar;
  return [
    ...Object.entries(COMPARISONS).flatMap(([name, holds]) => [
      celFunc(name, [NULL, DYN], BOOL, () => false),
      celFunc(name, [DYN, NULL], BOOL, () => false),
      celFunc(name, [DOUBLE, INT], BOOL, holds),
      celFunc(name, [INT, DOUBLE], BOOL, holds),
    ]),
    ...Object.entries(ARITHMETIC).flatMap(([name, reckon]) => [
      celFunc(name, [DOUBLE, INT], DOUBLE, (a, b) => reckon(a, Number(b))),
      celFunc(name, [INT, DOUBLE], DOUBLE, (a, b) => reckon(Number(a), b)),
    ]),
  ];
}

/** Those that `translate` writes. */
function internalFunctions(cel: Cel, work: EvaluationWork, reading: MemberReading): CelFunc[] {
  const { CelScalar, celFunc, isCelList, isCelMap, listType } = cel;
  const { BOOL, DYN, INT, STRING } = CelScalar;
  return [
    celFunc(INTERNAL.member, [DYN, STRING], DYN, member),
    celFunc(INTERNAL.index, [DYN, DYN], DYN, index),
    celFunc(INTERNAL.has, [DYN, STRING], BOOL, (owner, key) => member(owner, key) !== null),
    celFunc(INTERNAL.truth, [DYN], BOOL, truth),
    celFunc(INTERNAL.step, [INT], BOOL, (steps) => {
      work.spend(Number(steps));
      return true;
    }),
    ...INTERNAL.walk.map((name, depth) =>
      celFunc(name, [DYN], listType(DYN), (range) => walk(cel, range, depth)),
    ),
  ];

  /** The member of a map, or null: what is not there has no members either. */
  function member(owner: CelValue, key: string): CelValue {
    if (owner === null) return null;
    if (isCelMap(owner)) {
      reading.isAsked = true;
      try {
        return owner.get(key) ?? null;
      } finally {
        reading.isAsked = false;
      }
    }
    throw new TypeError(`"${key}" is read from something that is no map`);
  }

  function index(owner: CelValue, key: CelValue): CelValue {
    if (typeof key === "string") return member(owner, key);
    if (owner === null) return null;
    const at = typeof key === "bigint" ? Number(key) : key;
    if (isCelList(owner) && typeof at === "number") {
      return Number.isInteger(at) ? (owner.get(at) ?? null) : null;
    }
    throw new TypeError("an index is read from something that is no list or map");
  }
}

function truth(value: CelValue): boolean {
  if (value === null) return false;
  if (typeof value === "boolean") return value;
  throw new TypeError("a value that is neither true nor false is used as a condition");
}

/** What a macro such as `exists` goes through: the elements of a list, the keys of a map, nothing of nothing. */
function walk({ celList, isCelList, isCelMap }: Cel, range: CelValue, depth: number): CelInput<CelListType> {
  const limit = MAX_ITERATIONS[depth] ?? 0;
  if (range === null) return celList([]);
  if (!isCelList(range) && !isCelMap(range))
    throw new TypeError("a macro iterates over something that is no list");
  if (range.size > limit)
    throw new RangeError(`a list of ${range.size} elements is too long to iterate over`);
  return isCelMap(range) ? celList([...range.keys()]) : range;
}

function characters(work: EvaluationWork, text: string): bigint {
  work.spend(readCost(text.length));
  return BigInt(codePoints(text));
}

/** How many characters a text has, counted without making a list of them. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit < 0xdc00) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next < 0xe000) count -= 1;
    }
  }
  return count;
}

/**
 * The host name of a URL in lower case, or "" for what is no URL.
 *
 * @throws TypeError for a URL that parsers read differently; RangeError for one that is too long to be searched
 */
function hostOf(work: EvaluationWork, url: string): string {
  work.spend(readCost(searchable(url).length));
  if (AMBIGUOUS_HOST.test(url)) throw new TypeError("host() of an ambiguous URL");
  return URL.canParse(url) ? new URL(url).hostname : "";
}

/** @throws RangeError when the text is too long to be searched. */
export function searchable(text: string): string {
  if (text.length > MAX_TEXT_LENGTH)
    throw new RangeError(`a text of ${text.length} characters is not searched`);
  return text;
}

/** Browsers take a backslash for the end of the host, other programs for a part of what stands before an `@`. */
const AMBIGUOUS_HOST = /^[^/?#]*\/\/[^/?#]*\\/;
