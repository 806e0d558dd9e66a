/** Which names of a query, a cookie, a form or a path may not be written for an argument, because another one has them? */

/** Deeper names are compared up to here, so that a long name costs time in proportion to its length. */
const MAX_SEGMENTS = 8;

/**
 * Names in use, and the parameter or field that each belongs to. Servers read names in different ways, so names are equal
 * in any case, as lists (`a[]`), as objects (`a[b]`, `a.b`), and as PHP writes them (`a_b` for `a.b`).
 */
export class TakenNames {
  readonly #owners = new Map<string, string[]>();
  /** What names begin with: `a` for `a[b]`. */
  readonly #beginnings = new Map<string, string[]>();

  constructor(names: Iterable<string>) {
    for (const name of names) {
      const [flat, paths] = readingsOf(name);
      add(this.#owners, flat, name);
      for (const [at, path] of paths.entries())
        add(at === paths.length - 1 ? this.#owners : this.#beginnings, path, name);
    }
  }

  /** Whether a server may take `written` for another name than `own`. */
  has(written: string, own: string): boolean {
    const isOther = (owners: readonly string[] | undefined): boolean =>
      owners?.some((owner) => owner !== own) === true;
    const [flat, paths] = readingsOf(written);
    return (
      isOther(this.#owners.get(flat)) ||
      paths.some((path) => isOther(this.#owners.get(path))) ||
      isOther(this.#beginnings.get(paths.at(-1) ?? flat))
    );
  }
}

/** Two owners are enough to have one that is another. */
function add(names: Map<string, string[]>, key: string, owner: string): void {
  const owners = names.get(key);
  if (owners === undefined) names.set(key, [owner]);
  else if (owners.length < 2 && !owners.includes(owner)) owners.push(owner);
}

/** The name as one word, and its beginnings up to itself: `a`, `a[b`, `a[b[c` for `a[b][c]` and `a.b.c`. */
function readingsOf(name: string): readonly [flat: string, paths: readonly string[]] {
  const [plain = ""] = name.toLowerCase().trimStart().split("\0", 1);
  const segments = plain.split(/[.[]/, MAX_SEGMENTS).map((segment) => segment.split("]", 1)[0]);
  return [plain.replace(/[. []/g, "_"), segments.map((_, at) => segments.slice(0, at + 1).join("["))];
}
