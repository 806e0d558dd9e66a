/** What of a text can people see? Identifiers with hidden characters are refused; names are cleaned and marked. */

/**
 * Characters without a shape of their own: controls, formats, fillers, variation selectors, tags, unassigned ones, and
 * blanks other than the space. U+2800 and the others listed have a general category of visible characters.
 */
const HIDDEN =
  "\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{16fe4}\\u{13441}\\u{13442}\\u{1d159}";
const BLANK = "\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";

/** Each character without a shape of its own, except the selector that makes a sign an emoji. For `replace`. */
export const HIDDEN_CHARACTERS = new RegExp(`(?!(?<=\\p{Extended_Pictographic})\\ufe0f)[${HIDDEN}]`, "gu");
const ANY_HIDDEN = new RegExp(`[${HIDDEN}]`, "u");

/** Whether the text has characters without a shape of their own. */
export const hasHiddenCharacters = (text: string): boolean => ANY_HIDDEN.test(text);

const HIDDEN_IN_IDENTIFIER = new RegExp(`[${HIDDEN}${BLANK}]|^\\p{M}|^ | $`, "u");

/**
 * Why `text` cannot be an identifier (of a principal, client, group, scope, key or session), as the end of a sentence;
 * undefined if it can. Two texts that look the same would be two identifiers.
 */
export function identifierFault(text: string): string | undefined {
  if (text === "") return "is empty";
  return HIDDEN_IN_IDENTIFIER.test(text)
    ? "has characters that cannot be seen, or begins or ends with a blank"
    : undefined;
}

/** Joiners and selectors that belong to a visible sign: in emoji, and between letters of joining scripts. */
const JOINED =
  /(?<=\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Emoji}])\ufe0f|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Sinhala}]\p{M}*)[\u200c\u200d](?=[\p{L}\p{M}])/gu;

/** `\s` without the byte order mark, which has no width. */
const LINE_BLANKS = /[^\S\ufeff]+/gu;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
/** More marks on one letter cover the lines around it. */
const STACKED_MARKS = /(?<=\p{M}{3})\p{M}/gu;

/** A name without what cannot be seen. */
interface ReadableName {
  /** One line; empty if nothing of the name can be seen. */
  readonly text: string;
  /** Whether something was hidden in it. */
  readonly isCleaned: boolean;
}

/** What people can see of a name that a peer has chosen. */
function readableName(name: string): ReadableName {
  const line = name.replace(LINE_BLANKS, " ");
  let visible = "";
  let from = 0;
  // Joiners are kept aside, because the same characters are hidden elsewhere.
  for (const { index, 0: joiner } of line.matchAll(JOINED)) {
    visible += withoutHidden(line.slice(from, index)) + joiner;
    from = index + joiner.length;
  }
  visible += withoutHidden(line.slice(from));
  const text = visible.replace(LINE_BLANKS, " ").trim().normalize("NFC");
  return { text: VISIBLE.test(text) ? text : "", isCleaned: visible !== line };
}

/** The name for people, or `otherwise` if nothing of it can be seen; a cleaned one has a mark. */
export function nameForPeople(name: string, otherwise: string): string {
  const { text, isCleaned } = readableName(name);
  if (text === "") return otherwise;
  return isCleaned ? `${text} (hidden characters removed)` : text;
}

const withoutHidden = (text: string): string =>
  text.replace(HIDDEN_CHARACTERS, "").replace(STACKED_MARKS, "");

/** Letters of other scripts that look like Latin ones. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  ...{ а: "a", в: "b", с: "c", ԁ: "d", е: "e", һ: "h", і: "i", ј: "j", к: "k", ӏ: "l", м: "m", о: "o" },
  ...{ р: "p", ѕ: "s", т: "t", у: "y", х: "x", ѵ: "v", α: "a", ε: "e", ι: "i", κ: "k", ν: "v", ο: "o" },
  ...{ ρ: "p", τ: "t", υ: "u", χ: "x", ı: "i", ɑ: "a", ɡ: "g", ո: "n", օ: "o", ս: "u", հ: "h" },
};

/** What an identifier reads like: equal for texts that differ in case, width, marks, dashes or look-alike letters. */
export const foldedIdentifier = (text: string): string =>
  [...text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()]
    .map((letter) => LOOK_ALIKES[letter] ?? (/[\p{Pd}\p{Pc}\s\u2212]/u.test(letter) ? "-" : letter))
    .join("");
