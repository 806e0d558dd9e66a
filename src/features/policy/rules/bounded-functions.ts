/** CEL's own functions on texts, lists and maps, each made to count its work. */
import type { CelFunc, CelInput, CelList, CelValue } from "@bufbuild/cel";
import { type EvaluationWork, type Library, readCost, scanCost, searchCost } from "./cel.js";

/** Longer texts are no numbers, times or addresses, and to find that out could take long. */
const MAX_NUMBER_LENGTH = 64;
/** To ask for the time in a zone by its name. */
const TIME_ZONE = 5_000;
/** From here on a search of our own is used, which takes time linear in both texts. */
const LINEAR_SEARCH_FROM = 32;

/** Of CEL's string functions, those whose result is no longer than what they are given. */
const STRING_FUNCTIONS = ["charAt", "indexOf", "lastIndexOf", "substring", "trim"];
/** Casts of what can only be short. */
const SHORT: ReadonlySet<string> = new Set(["int", "uint", "timestamp", "duration"]);

const FIXED: ReadonlySet<string> = new Set(["bool", "int", "uint", "double", "null_type"]);
const TIMESTAMP = "google.protobuf.Timestamp";

type Cel = Library["cel"];
type Cost = (target: CelValue | undefined, args: readonly CelValue[]) => number;

/** The functions of CEL's library whose work depends on their arguments, with the work counted. */
export function boundedFunctions({ cel, strings }: Library, work: EvaluationWork): CelFunc[] {
  const standard = [...cel.celEnv().funcs];
  const standardEquals = standard.find(({ name }) => name === "_==_");
  const sizes = new Sizes(cel.isCelList);
  return [
    ...standard.filter(isUnbounded).map((found) => counted(cel, work, found, sizes.costOf(found))),
    ...strings
      .filter(({ name }) => STRING_FUNCTIONS.includes(name))
      .map((found) =>
        counted(cel, work, found, found.name === "trim" ? sizes.readTarget : sizes.searchArguments),
      ),
    ...comparisons(cel, work, new Equality(cel, work, sizes, standardEquals)),
    ...textFunctions(cel, work),
  ];
}

/** Whether it is given anything whose size is a caller's choice. */
const isUnbounded = ({ target, arguments: types }: CelFunc): boolean =>
  [target, ...types].some((type) => type !== undefined && !FIXED.has(type.name));

/** The same function, whose work is counted first. */
function counted(
  { celFunc, celMethod, isCelError }: Cel,
  work: EvaluationWork,
  found: CelFunc,
  cost: Cost,
): CelFunc {
  const { name, target, arguments: types, result } = found;
  const call = function (this: unknown, ...args: CelValue[]): CelInput {
    const on = this as CelValue | undefined;
    work.spend(cost(on, args));
    const value = found.call(0, on, args);
    if (isCelError(value)) throw value;
    return value as CelInput;
  };
  return target === undefined
    ? celFunc(name, types, result, call)
    : celMethod(name, target, types, result, call);
}

/** The sizes of values, in characters or elements. */
class Sizes {
  readonly #isCelList: Cel["isCelList"];

  constructor(isCelList: Cel["isCelList"]) {
    this.#isCelList = isCelList;
  }

  costOf({ name, target, arguments: types }: CelFunc): Cost {
    // Of times only those in a zone by its name are left.
    if (target?.name === TIMESTAMP) return types.length === 0 ? () => 1 : () => TIME_ZONE;
    return SHORT.has(name) ? this.#shortText : this.#all;
  }

  /** Of the value itself. */
  of(value: CelValue | undefined): number {
    if (typeof value === "string") return value.length;
    if (value instanceof Uint8Array) return value.length;
    return this.#isCelList(value) ? value.size : 0;
  }

  /** The library looks at each character by itself. */
  readonly readTarget: Cost = (target) => readCost(this.of(target));

  readonly searchArguments: Cost = (target, [sought]) => searchCost(this.of(target), this.of(sought));

  readonly #all: Cost = (target, args) =>
    readCost(args.reduce((sum: number, arg) => sum + this.of(arg), this.of(target)));

  readonly #shortText: Cost = (_, args) => {
    if (args.some((arg) => this.of(arg) > MAX_NUMBER_LENGTH))
      throw new RangeError("the text is too long to be read");
    return 1;
  };
}

/** Equality of values, member by member, whose work is counted. */
class Equality {
  readonly #cel: Cel;
  readonly #work: EvaluationWork;
  readonly #sizes: Sizes;
  readonly #standard: CelFunc | undefined;

  constructor(cel: Cel, work: EvaluationWork, sizes: Sizes, standard: CelFunc | undefined) {
    this.#cel = cel;
    this.#work = work;
    this.#sizes = sizes;
    this.#standard = standard;
  }

  isEqual(a: CelValue, b: CelValue): boolean {
    const { isCelList, isCelMap } = this.#cel;
    this.#work.spend(2);
    if (a === b) return true;
    if (isCelList(a)) return isCelList(b) && a.size === b.size && this.#isEqualList(a, b);
    if (isCelMap(a)) {
      if (!isCelMap(b) || a.size !== b.size) return false;
      for (const [key, value] of a) {
        const other = b.get(key);
        if (other === undefined || !this.isEqual(value, other)) return false;
      }
      return true;
    }
    this.#work.spend(this.#sizes.of(a) / 16);
    return this.#standard?.call(0, undefined, [a, b]) === true;
  }

  isIn(value: CelValue, list: CelList): boolean {
    for (const element of list) if (this.isEqual(element, value)) return true;
    return false;
  }

  #isEqualList(a: CelList, b: CelList): boolean {
    for (let at = 0; at < a.size; at++) if (!this.isEqual(a.get(at) ?? null, b.get(at) ?? null)) return false;
    return true;
  }
}

function comparisons(
  { CelScalar, celFunc, celList, listType }: Cel,
  work: EvaluationWork,
  equality: Equality,
): CelFunc[] {
  const { BOOL, DYN } = CelScalar;
  const LIST = listType(DYN);
  return [
    celFunc("_==_", [DYN, DYN], BOOL, (a, b) => equality.isEqual(a, b)),
    celFunc("_!=_", [DYN, DYN], BOOL, (a, b) => !equality.isEqual(a, b)),
    celFunc("@in", [DYN, LIST], BOOL, (value, list) => equality.isIn(value, list)),
    celFunc("_+_", [LIST, LIST], LIST, (a, b) => {
      work.spend(1 + (a.size + b.size) / 4);
      return celList([...a, ...b] as CelInput[]);
    }),
  ];
}

function textFunctions({ CelScalar, celList, celMethod, listType }: Cel, work: EvaluationWork): CelFunc[] {
  const { BOOL, DYN, INT, STRING } = CelScalar;
  const LIST = listType(DYN);
  return [
    celMethod("contains", STRING, [STRING], BOOL, function (sought) {
      return contains(work, this, sought);
    }),
    celMethod("startsWith", STRING, [STRING], BOOL, function (start) {
      work.spend(scanCost(start.length));
      return this.startsWith(start);
    }),
    celMethod("endsWith", STRING, [STRING], BOOL, function (end) {
      work.spend(scanCost(end.length));
      return this.endsWith(end);
    }),
    celMethod("lowerAscii", STRING, [], STRING, function () {
      work.spend(readCost(this.length));
      return this.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
    }),
    celMethod("upperAscii", STRING, [], STRING, function () {
      work.spend(readCost(this.length));
      return this.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
    }),
    celMethod("split", STRING, [STRING], LIST, function (separator) {
      work.spend(searchCost(this.length, separator.length) + this.length / 2);
      return celList(this.split(separator));
    }),
    celMethod("split", STRING, [STRING, INT], LIST, function (separator, most) {
      work.spend(searchCost(this.length, separator.length) + this.length / 2);
      return celList(most === 1n ? [this] : this.split(separator, most < 0n ? undefined : Number(most)));
    }),
  ];
}

/** Whether one text holds the other. V8 may take the product of both; for what is long that is too much. */
function contains(work: EvaluationWork, text: string, sought: string): boolean {
  if (sought.length <= LINEAR_SEARCH_FROM) {
    work.spend(searchCost(text.length, Math.sqrt(sought.length)));
    return text.includes(sought);
  }
  work.spend(2 * readCost(text.length + sought.length));
  return sought.length <= text.length && includesLinear(text, sought);
}

/** Knuth, Morris and Pratt: no character of the text is looked at again. */
function includesLinear(text: string, sought: string): boolean {
  /** By position, the length of the longest start of `sought` that ends there. */
  const borders = new Int32Array(sought.length);
  for (let at = 1, length = 0; at < sought.length; at++) {
    while (length > 0 && sought.charCodeAt(at) !== sought.charCodeAt(length))
      length = borders[length - 1] as number;
    if (sought.charCodeAt(at) === sought.charCodeAt(length)) length++;
    borders[at] = length;
  }
  for (let at = 0, length = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (length > 0 && code !== sought.charCodeAt(length)) length = borders[length - 1] as number;
    if (code === sought.charCodeAt(length)) length++;
    if (length === sought.length) return true;
  }
  return false;
}
