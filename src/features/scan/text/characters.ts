/** Characters that people do not see, or take for others. */

/** The kinds of invisible characters. */
export type HiddenKind =
  | "tag"
  | "bidi"
  | "bidi-mark"
  | "zero-width"
  | "joiner"
  | "selector"
  | "control"
  | "private-use"
  | "filler";

/** The first code point that any text needs a look for, beside controls: SOFT HYPHEN. */
const FIRST_BEYOND_ASCII = 0xad;

/** The kind of a code point; undefined if it is visible, or white space. */
export function hiddenKind(code: number): HiddenKind | undefined {
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d ? undefined : "control";
  if (code < 0x7f) return undefined;
  if (code <= 0x9f) return "control";
  if (code < FIRST_BEYOND_ASCII) return undefined;
  if (code < 0x2000) return belowPunctuation(code);
  if (code < 0xe000) return inPunctuation(code);
  if (code < 0x1_0000) return inCompatibility(code);
  if (code >= 0xe_0000 && code <= 0xe_007f) return "tag";
  if (code >= 0xe_0100 && code <= 0xe_01ef) return "selector";
  return code >= 0xf_0000 ? "private-use" : undefined;
}

function belowPunctuation(code: number): HiddenKind | undefined {
  if (code === 0xad || code === 0x34f || code === 0x180e) return "zero-width";
  if (code === 0x61c) return "bidi-mark";
  return code === 0x115f || code === 0x1160 ? "filler" : undefined;
}

function inPunctuation(code: number): HiddenKind | undefined {
  if (code > 0x206f) return code === 0x3164 ? "filler" : undefined;
  if (code === 0x200b || (code >= 0x2060 && code <= 0x2064)) return "zero-width";
  if (code === 0x200c || code === 0x200d) return "joiner";
  if (code === 0x200e || code === 0x200f) return "bidi-mark";
  return (code >= 0x202a && code <= 0x202e) || code >= 0x2066 ? "bidi" : undefined;
}

function inCompatibility(code: number): HiddenKind | undefined {
  if (code <= 0xf8ff) return "private-use";
  if (code >= 0xfe00 && code <= 0xfe0f) return "selector";
  if (code === 0xfeff) return "zero-width";
  return code === 0xffa0 ? "filler" : undefined;
}

/** Letters of other scripts that look like these of the Latin one, in the order of their code points. */
const LOOK_ALIKES = new Map<number, string>([
  ...pairs("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανοριυχ", "abezhikmnoptyxavopiux"),
  ...pairs("АВЕКМНОРСТУХЅІЈԚԜабвгеікмнорстухѕіјԛԝһӏ", "abekmhopctyxsijqwab6reikmhopctyxsijqwhl"),
  ...pairs("ıɑɡɩƖ", "iagil"),
]);

function pairs(from: string, to: string): readonly (readonly [number, string])[] {
  return [...from].map((letter, at) => [letter.codePointAt(0) ?? 0, to.charAt(at)] as const);
}

/** The Latin letters that a character looks like, in lower case; the character itself in lower case if it looks like none. */
export function plainLetters(character: string): string {
  const known = LOOK_ALIKES.get(character.codePointAt(0) ?? 0);
  if (known !== undefined) return known;
  // Compatibility forms such as full width and mathematical letters, and accents.
  const plain = character.normalize("NFKD").toLowerCase();
  return plain.length > 1 ? plain.replace(/\p{M}/gu, "") : plain;
}

/** Whether the character is a letter of a script in which joiners are spelling, or a part of an emoji. */
export const joins = (character: string): boolean => JOINING.test(character);
const JOINING =
  /[\p{sc=Arab}\p{sc=Syrc}\p{sc=Nkoo}\p{sc=Mong}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}\p{Extended_Pictographic}]|\uFE0F|[\u{1F3FB}-\u{1F3FF}]/u;

/** Whether a text has letters that are written from right to left. */
export const isRightToLeft = (text: string): boolean => RIGHT_TO_LEFT.test(text);
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]/;
