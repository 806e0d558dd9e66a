/** Takes things out of JSON on its way through: members by their path, and whatever a pattern matches. */

import { compilePattern } from "../../../patterns/re2.js";
import { runAtOnce, runSteps, type Steps, Work } from "../../../runtime/cooperative-yield.js";
import { ExactNumber, type JsonObject } from "../../../wire/json.js";
import type { RedactionConfig } from "../config.js";
import type { DetectedKind } from "../detect/detector.js";
import {
  compilePaths,
  descend,
  isBinaryMember,
  isDisplayText,
  isProtocolKey,
  isTarget,
  type MessagePart,
  type PathNodes,
  partOfMember,
} from "./positions.js";
import { mirroredJson, removedValues, withoutValues } from "./text-copies.js";
import { TextRedactor } from "./text-redactor.js";

/** What one rule takes out, in one direction. */
export interface Redaction {
  /** Whether there is anything to look for. */
  readonly active: boolean;
  readonly replacement: string;
  /** The same without the paths: for what they are not written for. */
  readonly patternsOnly: Omit<Redaction, "patternsOnly">;
  /**
   * A copy without what is to be taken out; the very same object where that is nothing. Others get their turn in
   * between.
   *
   * @param place where in a message the object stands, if the protocol defines that; tells which members are bytes
   */
  apply<T extends JsonObject>(object: T, part?: MessagePart): Promise<T>;
  /** The same for a text; paths do not count. */
  text(text: string): Promise<string>;
  /** The same as `apply`, at once; undefined where that would be too much work. */
  applyNow(object: JsonObject): JsonObject | undefined;
  /** Whether a path ends in this name, in whatever case. */
  endsIn(name: string): boolean;
}

/** What is to be taken out. */
export interface Redacted extends RedactionConfig {
  /** What is found without a pattern. */
  readonly detect: readonly DetectedKind[];
}

/** @param replacement what stands there instead */
export function redaction({ paths, patterns, detect }: Redacted, replacement: string): Redaction {
  const texts = new TextRedactor(patterns.map(compilePattern), replacement, detect);
  const walk = new Walk(texts, replacement);
  const names = new Set(paths.map((path) => path.slice(path.lastIndexOf(".") + 1).toLowerCase()));
  const made = (nodes: PathNodes) => ({
    active: texts.active || nodes.length > 0,
    replacement,
    apply: <T extends JsonObject>(object: T, place?: MessagePart) =>
      runSteps(walk.whole(object, place, nodes)) as Promise<T>,
    text: (text: string) => runSteps(texts.redact(text, new Work())),
    applyNow: (object: JsonObject) => runAtOnce(walk.whole(object, undefined, nodes)),
    endsIn: (name: string) => nodes.length > 0 && names.has(name.toLowerCase()),
  });
  return { ...made(compilePaths(paths)), patternsOnly: made([]) };
}

/** The cost of visiting a value of any length, in characters searched. */
const BASE_COST = 32;

/** What holds for a part of a message. */
interface Position {
  readonly part: MessagePart | undefined;
  readonly paths: PathNodes;
  /** The paths into `structuredContent`, for texts with the same content. */
  readonly mirrored: PathNodes;
}

class Walk {
  readonly #texts: TextRedactor;
  readonly #replacement: string;
  constructor(texts: TextRedactor, replacement: string) {
    this.#texts = texts;
    this.#replacement = replacement;
  }

  *whole(object: JsonObject, part: MessagePart | undefined, paths: PathNodes): Steps<JsonObject> {
    const mirrored = part === "result" ? descend(paths, "structuredContent") : [];
    const work = new Work();
    const clean = yield* this.#object(object, { part, paths, mirrored }, work);
    if (mirrored.length === 0 || object.structuredContent === undefined) return clean;
    const values = yield* removedValues(object.structuredContent, mirrored, work);
    return yield* withoutValues(clean, values, this.#replacement, work);
  }

  *#value(value: unknown, spot: Position, work: Work): Steps<unknown> {
    if (isTarget(spot.paths)) return this.#replacement;
    if (work.mustYield(BASE_COST)) yield;
    if (typeof value === "string") return yield* this.#texts.redact(value, work);
    if (typeof value === "number") return yield* this.#number(value, String(value), work);
    if (value instanceof ExactNumber) {
      // In the written and in the canonical form: 4111111111111111 is 4.111111111111111e15 too.
      const clean = yield* this.#number(value, value.source, work);
      return clean === value ? yield* this.#number(value, String(Number(value.source)), work) : clean;
    }
    if (typeof value !== "object" || value === null || !this.#mayMatchBelow(spot)) return value;
    return yield* Array.isArray(value)
      ? this.#array(value as readonly unknown[], spot, work)
      : this.#object(value as JsonObject, spot, work);
  }

  *#number(value: unknown, text: string, work: Work): Steps<unknown> {
    const clean = yield* this.#texts.redact(text, work);
    return clean === text ? value : clean;
  }

  /** Whether a value needs no redaction; the usual case where there are only paths. */
  #isUntouched(value: unknown, spot: Position): boolean {
    if (this.#texts.active || isTarget(spot.paths)) return false;
    return typeof value !== "object" || value === null || !this.#mayMatchBelow(spot);
  }

  /** Whether there can be anything to find below. */
  #mayMatchBelow({ paths, mirrored }: Position): boolean {
    return this.#texts.active || paths.length > 0 || mirrored.length > 0;
  }

  *#array(array: readonly unknown[], spot: Position, work: Work): Steps<readonly unknown[]> {
    let copy: unknown[] | undefined;
    for (let at = 0; at < array.length; at++) {
      const inner = array[at];
      // A list in a list is no content.
      const { part, mirrored } = Array.isArray(inner) ? NO_POSITION : spot;
      const below = { part, paths: descend(spot.paths, at), mirrored };
      if (work.mustYield(1)) yield;
      if (this.#isUntouched(inner, below)) continue;
      const clean = yield* this.#value(inner, below, work);
      if (clean === inner) continue;
      copy ??= [...array];
      copy[at] = clean;
    }
    return copy ?? array;
  }

  *#object(object: JsonObject, spot: Position, work: Work): Steps<JsonObject> {
    // Entries of an object of very many members take three times as long as its keys.
    const keys = Object.keys(object);
    let copy: Record<string, unknown> | undefined;
    const numbers = this.#texts.active ? new Map<string, number>() : NO_NUMBERS;
    for (const [at, key] of keys.entries()) {
      const inner = object[key];
      const isFixed = !this.#texts.active || isProtocolKey(spot.part, key);
      const name = isFixed ? key : yield* this.#name(key, object, copy, numbers, work);
      const clean = isBinaryMember(spot.part, key, object)
        ? inner
        : yield* this.#member(key, object, spot, work);
      if (work.mustYield(1)) yield;
      if (clean === inner && name === key) {
        if (copy !== undefined) setOwn(copy, key, inner);
        continue;
      }
      copy ??= yield* firstOf(object, keys, at, work);
      setOwn(copy, name, clean);
    }
    return copy ?? object;
  }

  /**
   * The name of a member; two that come to the same stay two.
   *
   * @param copy what has been copied; undefined as long as that would be the same
   * @param numbers the last number that each name was given, as looking from 2 on would be quadratic work
   */
  *#name(
    key: string,
    owner: JsonObject,
    copy: JsonObject | undefined,
    numbers: Map<string, number>,
    work: Work,
  ): Steps<string> {
    const clean = yield* this.#texts.redact(key, work);
    if (clean === key) return key;
    let name = clean;
    let number = numbers.get(clean) ?? 1;
    while (Object.hasOwn(owner, name) || (copy !== undefined && Object.hasOwn(copy, name))) {
      number += 1;
      name = `${clean} ${number}`;
    }
    numbers.set(clean, number);
    return name;
  }

  *#member(key: string, owner: JsonObject, { part, paths, mirrored }: Position, work: Work): Steps<unknown> {
    const inner = owner[key];
    const below = partOfMember(part, key, owner);
    const spot = { part: below, paths: descend(paths, key), mirrored: below === undefined ? [] : mirrored };
    // The name of a member is the key word beside its value; those of the protocol announce none.
    if (typeof inner === "string" && this.#texts.isSecret(key, inner)) return this.#replacement;
    if (mirrored.length === 0 || typeof inner !== "string" || !isDisplayText(part, key)) {
      return this.#isUntouched(inner, spot) ? inner : yield* this.#value(inner, spot, work);
    }
    const byPaths = new Walk(TextRedactor.NONE, this.#replacement);
    const text = yield* mirroredJson(inner, this.#replacement, (json) =>
      byPaths.#value(json, { ...NO_POSITION, paths: mirrored }, work),
    );
    return yield* this.#value(text, spot, work);
  }
}

/** For where no name is ever changed. */
const NO_NUMBERS = new Map<string, number>();

/** A copy of the members before the one at `count`. */
function* firstOf(
  object: JsonObject,
  keys: readonly string[],
  count: number,
  work: Work,
): Steps<Record<string, unknown>> {
  const copy: Record<string, unknown> = {};
  for (let at = 0; at < count; at++) {
    const key = keys[at] ?? "";
    setOwn(copy, key, object[key]);
    if (work.mustYield(1)) yield;
  }
  return copy;
}

/** An assignment to `__proto__` would do something else. */
function setOwn(copy: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") copy[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}

const NO_POSITION: Position = { part: undefined, paths: [], mirrored: [] };
