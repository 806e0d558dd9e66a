/** Names that people and models take for those of other servers. */
import type { Match } from "../finding.js";
import { plainLetters } from "../text/characters.js";
import { wordsOf } from "../text/words.js";

/** A tool, as it is compared with those of other servers. */
export interface NamedTool {
  readonly server: string;
  readonly name: string;
  readonly description: string;
}

/** The name as it looks. */
export const skeleton = (name: string): string =>
  [...name]
    .map(plainLetters)
    .join("")
    .replaceAll("0", "o")
    .replaceAll("1", "l")
    .replaceAll("5", "s")
    .replaceAll("rn", "m");

/** Letters of several scripts in one name; Japanese and Korean names have several by right. */
const LATIN = /\p{sc=Latn}/u;
const CONFUSABLE =
  /[\p{sc=Cyrl}\p{sc=Grek}\p{sc=Armn}\p{sc=Cher}\uFF21-\uFF3A\uFF41-\uFF5A\u{1D400}-\u{1D7FF}]/u;

/** The least share of equal words, and the least number of words, of descriptions that are one another's copies. */
const COPY_SHARE = 0.8;
const COPY_WORDS = 5;
const MAX_TEXT = 4_096;

/** What is wrong with the name of `tool`. @param alike tools of other servers with the same skeleton */
export function nameMatches(
  { name, description }: Pick<NamedTool, "name" | "description">,
  alike: readonly NamedTool[],
): readonly Match[] {
  const at = { rule: "look-alike-name", start: 0, end: name.length } as const;
  if (LATIN.test(name) && CONFUSABLE.test(name))
    return [{ ...at, severity: "high", message: "it mixes letters of scripts that look the same" }];
  const twin = alike.find((other) => other.name.toLowerCase() !== name.toLowerCase());
  if (twin !== undefined)
    return [
      { ...at, severity: "medium", message: `it looks like ${twin.name} of the server ${twin.server}` },
    ];
  const copied = alike.find((other) => isCopy(description, other.description));
  return copied === undefined
    ? []
    : [
        {
          ...at,
          severity: "medium",
          message: `its name and its description are those of a tool of the server ${copied.server}`,
        },
      ];
}

/** Whether two descriptions say the same, except for case, marks and a few words. */
function isCopy(own: string, other: string): boolean {
  const left = wordSet(own);
  const right = wordSet(other);
  if (Math.min(left.size, right.size) < COPY_WORDS) return false;
  const common = [...left].filter((word) => right.has(word)).length;
  return common / (left.size + right.size - common) >= COPY_SHARE;
}

const wordSet = (text: string): ReadonlySet<string> =>
  new Set(wordsOf(text.slice(0, MAX_TEXT)).map((word) => word.text));
