/** Is the name of a package one that people may mistake for a well-known server's? */
import { WELL_KNOWN } from "./well-known.js";

/** The package that it may be mistaken for, and why. */
export interface LookAlike {
  readonly wellKnown: string;
  /** After the two names: `has another scope`. */
  readonly how: string;
}

/** Last parts of names that many publishers use. */
const COMMON: ReadonlySet<string> = new Set([
  "mcp",
  "mcp-server",
  "server",
  "cli",
  "inspector",
  "magic",
  "dev-mcp",
]);
/** Shorter names are one letter apart by chance. */
const MIN_LENGTH = 6;
const MAX_LENGTH = 214;

/** Undefined for a well-known package itself, and for a name like none of them. */
export function lookAlike(ecosystem: "npm" | "python", name: string): LookAlike | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const own = ecosystem === "python" ? pythonName(name) : name;
  const all = WELL_KNOWN[ecosystem];
  if (all.some((known) => known === own)) return undefined;
  for (const known of all) {
    const how = likeness(own, known);
    if (how !== undefined) return { wellKnown: known, how };
  }
  return undefined;
}

/** As the index compares them. */
const pythonName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[-_.]+/g, "-")
    .replace(/^awslabs-/, "awslabs.");

function likeness(name: string, known: string): string | undefined {
  if (skeleton(name) === skeleton(known)) return "is written with characters that look the same";
  const [scope, base] = parts(name);
  const [knownScope, knownBase] = parts(known);
  if (knownBase.length >= MIN_LENGTH && base === knownBase && !COMMON.has(base) && scope !== knownScope) {
    if (scope === undefined) return "is the same without its scope";
    if (knownScope !== undefined) return "is the same in another scope";
  }
  if (scope === undefined && knownScope !== undefined && base === `${knownScope}-${knownBase}`)
    return "is written with a hyphen for the slash of its scope";
  return known.length >= MIN_LENGTH && isOneEditAway(name, known) ? "is one character away" : undefined;
}

/** Scope and the rest. */
function parts(name: string): readonly [string | undefined, string] {
  const slash = name.indexOf("/");
  return name.startsWith("@") && slash !== -1
    ? [name.slice(1, slash), name.slice(slash + 1)]
    : [undefined, name];
}

/** Letters of other scripts that look like Latin ones, by their Latin one. */
const ALIKE: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    a: "аɑα",
    c: "сϲ",
    d: "ԁ",
    e: "еҽ",
    g: "ɡ",
    h: "һ",
    i: "іıι",
    j: "ј",
    k: "κк",
    l: "ӏⅼ",
    m: "м",
    n: "ո",
    o: "оοօ",
    p: "рρ",
    q: "ԛ",
    r: "г",
    s: "ѕ",
    t: "т",
    u: "υս",
    v: "ѵν",
    w: "ԝ",
    x: "хχ",
    y: "уү",
  }).flatMap(([latin, others]) => [...others].map((other) => [other, latin])),
);

/** What a name looks like at a glance. */
const skeleton = (name: string): string =>
  [...name.normalize("NFKC").toLowerCase()]
    .map((letter) => ALIKE[letter] ?? letter)
    .join("")
    .replaceAll("0", "o")
    .replaceAll("1", "l")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replace(/[_.]/g, "-");

/** One character is added, missing, another, or changes place with the next. Linear. */
function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}
