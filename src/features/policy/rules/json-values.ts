/** JSON as CEL sees it: wrapped when looked at, never copied, and never mistaken for anything but JSON. */
import type * as Cel from "@bufbuild/cel";
import type { CelInput, CelMap } from "@bufbuild/cel";
import { toBigInt } from "../../../wire/decimal.js";
import { ExactNumber, isObject, type JsonObject } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { type EvaluationWork, readCost } from "./cel.js";
import type { MemberReading } from "./member-twins.js";

/** Conversion of JSON values for CEL. */
export interface JsonValues {
  /** A JSON object as a CEL map, read by exact names; whatever else is given is an empty one. */
  object(value: unknown): CelMap;
  /**
   * Any JSON value in place of a map: what is none is seen for what it is, as its type is found out when it is used. Members
   * of its members are read as a server may read them; its own are what the gateway reads too.
   */
  any(value: unknown): CelMap;
  /**
   * The JSON text of a CEL value that came from JSON.
   *
   * @throws RangeError when it is longer than `longest`; it stops as soon as that is known.
   */
  text(value: unknown, longest: number): string;
}

/**
 * The CEL library distinguishes messages, maps and plain objects by their shape, so that JSON
 * from outside with a key such as `$typeName` or `constructor` would be read as something that it is not. Here
 * every object becomes a map and every array a list, whatever is in it.
 */
export function jsonValues(
  { celList, celMap, isCelList, isCelMap }: typeof Cel,
  work: EvaluationWork,
  reading: MemberReading,
): JsonValues {
  const wrap = (value: unknown): CelInput => wrapped(value, wrap, undefined);
  const wrapAsRead = (value: unknown): CelInput => wrapped(value, wrapAsRead, reading);

  function wrapped(
    value: unknown,
    wrapInner: (inner: unknown) => CelInput,
    readBy: MemberReading | undefined,
  ): CelInput {
    if (Array.isArray(value)) work.spend(1 + value.length / 2);
    if (Array.isArray(value)) return celList(value.every(isScalar) ? value : value.map(wrapInner));
    work.spend(1);
    if (isObject(value)) return celMap(new JsonMap(value, wrapInner, work, readBy));
    if (value instanceof ExactNumber) {
      work.spend(readCost(value.source.length));
      return celNumber(value);
    }
    return isScalar(value) ? value : null;
  }

  function text(value: unknown, longest: number): string {
    let length = 0;
    const counted = (piece: string): string => {
      length += piece.length;
      if (length > longest) {
        throw new RangeError(`a value of more than ${longest} characters is not written out`);
      }
      return piece;
    };
    const write = (inner: unknown): string => {
      // Before it is written: what is written longer than it is read can only be longer.
      if (typeof inner === "string" && inner.length > longest - length) counted(inner);
      work.spend(typeof inner === "string" ? readCost(inner.length) : 2);
      const parts: string[] = [];
      if (isCelMap(inner)) {
        for (const [key, member] of inner) parts.push(`${counted(writeJson(key))}:${write(member)}`);
        return `{${parts.join(",")}}`;
      }
      if (isCelList(inner)) {
        for (const element of inner) parts.push(write(element));
        return `[${parts.join(",")}]`;
      }
      return counted(typeof inner === "bigint" ? String(inner) : (writeJson(inner) ?? "null"));
    };
    return write(value);
  }

  return {
    object: (value) => celMap(new JsonMap(isObject(value) ? value : {}, wrap, work, undefined)),
    any: (value) => wrapped(value, wrapAsRead, undefined) as CelMap,
    text,
  };
}

/**
 * What CEL reckons with: 64-bit integers where a double would be another number, doubles for the rest. What is beyond
 * both is the nearest double, so conditions about ranges hold of it.
 */
function celNumber(number: ExactNumber): bigint | number {
  const near = Number(number.source);
  if (Number.isSafeInteger(near) || !(Math.abs(near) <= 2 ** 63)) return near;
  const whole = toBigInt(number, INT64_DIGITS);
  return whole !== undefined && BigInt.asIntN(64, whole) === whole ? whole : near;
}

const INT64_DIGITS = 19;

type Scalar = string | number | boolean | null;

const isScalar = (value: unknown): value is Scalar =>
  value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";

/** A JSON object as the map that CEL asks for members; each is wrapped when it is requested. */
class JsonMap implements ReadonlyMap<string, CelInput> {
  readonly #object: JsonObject;
  readonly #wrap: (value: unknown) => CelInput;
  readonly #work: EvaluationWork;
  readonly #reading: MemberReading | undefined;
  #keys: readonly string[] | undefined;
  /** @param reading undefined: by exact names */
  constructor(
    object: JsonObject,
    wrap: (value: unknown) => CelInput,
    work: EvaluationWork,
    reading: MemberReading | undefined,
  ) {
    this.#object = object;
    this.#wrap = wrap;
    this.#work = work;
    this.#reading = reading;
  }
  get size(): number {
    return this.#names().length;
  }
  get(key: string): CelInput | undefined {
    // CEL may ask with a number or a boolean; a JSON object has neither as key.
    if (typeof key !== "string") return undefined;
    const name = this.#nameOf(key);
    return Object.hasOwn(this.#object, name) ? this.#wrap(this.#object[name]) : undefined;
  }
  has(key: string): boolean {
    return typeof key === "string" && Object.hasOwn(this.#object, this.#nameOf(key));
  }
  #nameOf(key: string): string {
    return this.#reading?.nameOf(this.#object, key) ?? key;
  }
  #names(): readonly string[] {
    if (this.#keys === undefined) {
      this.#keys = Object.keys(this.#object);
      this.#work.spend(1 + this.#keys.length * 2);
    }
    return this.#keys;
  }
  forEach(visit: (value: CelInput, key: string, map: ReadonlyMap<string, CelInput>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }
  *entries(): MapIterator<[string, CelInput]> {
    for (const key of this.#names()) yield [key, this.#wrap(this.#object[key])];
  }
  keys(): MapIterator<string> {
    return this.#names().values() as MapIterator<string>;
  }
  *values(): MapIterator<CelInput> {
    for (const [, value] of this) yield value;
  }
  [Symbol.iterator](): MapIterator<[string, CelInput]> {
    return this.entries();
  }
}
