/**
 * Which differently spelled member names do JSON parsers treat as equal? Go's encoding/json and .NET ignore case, some
 * parsers normalize Unicode; in all of them the last of two such members wins.
 */

/**
 * A set of ASCII names, searched by folded name: by NFKC, then by case, in which `ſ` is s, `K`
 * (Kelvin) is k, and both `ı` and `İ` are i.
 */
export class CaseFoldedNames {
  readonly #byFold: ReadonlyMap<string, string>;
  readonly #longest: number;

  constructor(names: readonly string[]) {
    this.#byFold = new Map(names.map((name) => [name.toLowerCase(), name]));
    this.#longest = Math.max(0, ...names.map(({ length }) => length)) * UNITS_PER_CHARACTER;
  }

  /** The name that `other` folds to, perhaps itself; undefined if there is none. */
  match(other: string): string | undefined {
    if (other.length > this.#longest) return undefined;
    const folded = ASCII.test(other) ? other.toLowerCase() : asciiFold(other);
    return folded === undefined ? undefined : this.#byFold.get(folded);
  }
}

/** One text for all names that fold to each other, in any script. */
export function foldedName(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  // By way of upper case: `ı`, `ſ` and the Kelvin sign have no lower case of their own.
  return name.normalize("NFKC").toUpperCase().toLowerCase().replaceAll(DOT_ABOVE, "");
}

const ASCII = /^[\0-\x7f]*$/;

/** A letter may be written outside the basic plane (two code units) and carry a dot above. */
const UNITS_PER_CHARACTER = 3;
const DOT_ABOVE = "\u0307";

/** The folded name; undefined if it is not ASCII. */
function asciiFold(name: string): string | undefined {
  let folded = "";
  for (const character of name) {
    // The lower case of İ is an i with a dot, which may also be written in two.
    if (character === DOT_ABOVE && folded.endsWith("i")) continue;
    const fold = foldOf(character);
    if (fold === undefined) return undefined;
    folded += fold;
  }
  return folded;
}

/** Caches the folds (a few thousand characters fold to ASCII): normalizing is slow in hostile messages with many. */
const folds = new Map<string, string>();
/** One bit for each code point found not to fold to ASCII; 136 KiB, allocated on first use. */
let nonAsciiFolds: Uint8Array | undefined;

function foldOf(character: string): string | undefined {
  const known = folds.get(character);
  if (known !== undefined) return known;
  const point = character.codePointAt(0) ?? 0;
  nonAsciiFolds ??= new Uint8Array(0x110000 >> 3);
  const bit = 1 << (point & 7);
  if (((nonAsciiFolds[point >> 3] ?? 0) & bit) !== 0) return undefined;
  // By way of upper case: `ı` has no lower case of its own.
  const fold = character.normalize("NFKC").toUpperCase().toLowerCase().replace(DOT_ABOVE, "");
  if (fold !== "" && ASCII.test(fold)) {
    folds.set(character, fold);
    return fold;
  }
  nonAsciiFolds[point >> 3] = (nonAsciiFolds[point >> 3] ?? 0) | bit;
  return undefined;
}
