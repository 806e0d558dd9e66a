/** Finds secrets in texts. */
import { matchAt, placesOf, type Span, startsToken, type Window } from "./detector.js";
import { besideKeyWords } from "./key-words.js";
import { addressPasswords, privateKeys, webTokens } from "./long-secrets.js";
import { SECRET_SHAPES, type SecretShape } from "./secret-shapes.js";

const BY_START = new Map<string, SecretShape>(
  SECRET_SHAPES.flatMap((shape) => shape.starts.map((start) => [start, shape] as const)),
);
const LONGEST_START = Math.max(...[...BY_START.keys()].map(({ length }) => length));
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
/** Any beginning: the longest of those that begin alike. */
const STARTS = new RegExp(
  [...BY_START.keys()]
    .sort((one, other) => other.length - one.length)
    .map(escaped)
    .join("|"),
  "g",
);
const START = new RegExp(STARTS.source, "y");

function* tokens(window: Window): Generator<Span> {
  const { text } = window;
  for (const start of placesOf(STARTS, window)) {
    if (!startsToken(text, start)) continue;
    const begun = matchAt(START, text.slice(start, start + LONGEST_START), 0)?.[0] ?? "";
    const known = BY_START.get(begun);
    const match = known && matchAt(known.shape, text, start);
    if (match === undefined || known?.isValid?.(match) === false) continue;
    yield { start, end: start + match[0].length };
  }
}

/** Tokens of known issuers, private keys, web tokens, passwords of addresses, random values beside a key word. */
export function* secrets(window: Window): Generator<Span> {
  yield* tokens(window);
  yield* privateKeys(window);
  yield* webTokens(window);
  yield* addressPasswords(window);
  yield* besideKeyWords(window);
}
