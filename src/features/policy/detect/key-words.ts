/** What secrets stand beside a word that announces one: `api_key = "…"`, `Authorization: Bearer …`, a member `clientSecret`. */
import { matchAt, placesOf, type Span, type Window } from "./detector.js";

const WORDS =
  "[kK][eE][yY]|[sS][eE][cC][rR][eE][tT]|[tT][oO][kK][eE][nN]|[pP][aA][sS][sS]|[pP][wW][dD]|[cC][rR][eE][dD][eE][nN][tT][iI][aA][lL]|[aA][uU][tT][hH]|[bB][eE][aA][rR][eE][rR]";
const KEY_WORD = new RegExp(WORDS, "g");
const THIS_WORD = new RegExp(WORDS, "y");
/** What stands before `token` where it is the name of a place in a list or of a request. */
const HARMLESS =
  /(?:page|next|prev|previous|continuation|cursor|sync|progress|start|resume|change|list)[_.-]?$/i;
/** The longest of them and its separator, in characters. */
const LONGEST_HARMLESS = 13;
/** From the end of the word to the value, which is the group. */
const ASSIGNED =
  /[\w.-]{0,24}["'`\])]{0,2}(?: is| was)?(?:\s{0,4}(?:=>|:=|={1,2}|:)\s{0,4}|\s{1,2}(?=[A-Za-z0-9+/]{20}))["'`]{0,2}(?:[bB]earer |[bB]asic |[tT]oken )?([\w+/=.~%-]{12,512})/y;
/** Names of members whose value is a secret. A name such as `keys`, `tokenCount` or `keyword` is none. */
const SECRET_NAME =
  /(?:api|access|secret|private|signing|encryption|account|shared|master|service|auth|client)[_.-]?(?:key|secret|token)$|(?:^|[_.-]|[a-z](?=[A-Z]))(?:[tT]oken|[sS]ecret|[pP]assword|[pP]asswd|[pP]wd|[cC]redential)s?$|^[aA]uthorization$/i;

/** The least entropy (bits per character) of a random text: of hexadecimal digits, and of more characters. */
const LEAST_ENTROPY = { hex: 3, other: 3.5 } as const;
const LEAST_LENGTH = 16;
const LONGEST = 512;
const LONGEST_NAME = 64;

/** Random values beside a key word. */
export function* besideKeyWords(window: Window): Generator<Span> {
  const { text } = window;
  for (const place of placesOf(KEY_WORD, window)) {
    if (isHarmless(text.slice(Math.max(0, place - LONGEST_HARMLESS), place))) continue;
    const at = place + (matchAt(THIS_WORD, text, place)?.[0].length ?? 0);
    const match = matchAt(ASSIGNED, text, at);
    const value = match?.[1] ?? "";
    if (match === undefined || !isRandom(value)) continue;
    const end = at + match[0].length;
    yield { start: end - value.length, end };
  }
}

const isHarmless = (before: string): boolean => HARMLESS.test(before);

/** Whether the value of a member with this name is a random text, which would be found beside the name. */
export const isSecretMember = (name: string, value: string): boolean =>
  value.length <= LONGEST &&
  name.length <= LONGEST_NAME &&
  SECRET_NAME.test(name) &&
  !isHarmless(name.replace(/token$/i, "")) &&
  !/\s/.test(value) &&
  isRandom(value);

/** Whether a text looks random: long enough, no words, no path, as many different characters as chance has. */
function isRandom(text: string): boolean {
  const value = text.replace(/[=.]+$/, "");
  if (value.length < LEAST_LENGTH || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (/^[\d.:_-]+[A-Za-z]{0,3}$/.test(value) || isDate(value) || isIdentifier(value)) return false;
  const least = /^[0-9a-fA-F]+$/.test(value) ? LEAST_ENTROPY.hex : LEAST_ENTROPY.other;
  return entropyOf(value) >= least;
}

const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}/.test(text);
/** Words with separators between them, and a number in some: `my-app-secret-2024`, `path/to/key1`. */
const isIdentifier = (text: string): boolean =>
  text.split(/[/_.-]/).every((part) => /^(?:[A-Z]?[a-z]*|[A-Z]+|[a-z]{2,}\d{1,4}|\d{1,4}|v\d+)$/.test(part));

/** Shannon's, in bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let sum = 0;
  for (const count of counts.values()) sum -= (count / text.length) * Math.log2(count / text.length);
  return sum;
}
