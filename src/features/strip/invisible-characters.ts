/** Which characters are invisible, and where a script, an emoji or a file uses one of them nevertheless? */

/** The first and the last of each range of UTF-16 code units that need a look. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x00, 0x08], // controls, but tab and line feed
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad], // soft hyphen
  [0x34f, 0x34f], // combining grapheme joiner
  [0x61c, 0x61c], // mark of direction
  [0x115f, 0x1160], // Hangul fillers
  [0x180b, 0x180f], // Mongolian selectors
  [0x200b, 0x200f], // zero width, joiners, marks of direction
  [0x202a, 0x202e], // embeddings and overrides of direction
  [0x2060, 0x206f], // word joiner, invisible operators, isolates, deprecated formats
  [0x3164, 0x3164], // Hangul filler
  [0xfe00, 0xfe0f], // variation selectors
  [0xfeff, 0xfeff], // byte order mark
  [0xffa0, 0xffa0], // Hangul filler of half width
  [0xfff9, 0xfffb], // interlinear annotations
  [0xdb40, 0xdb43], // the first unit of tags and of further variation selectors
];

/** 1 for each of them: on texts beyond Latin-1 a look-up is ten times as fast as a regular expression. */
const TO_LOOK_AT = new Uint8Array(0x1_0000);
for (const [first, last] of RANGES) TO_LOOK_AT.fill(1, first, last + 1);

/** Most texts have nothing else than these. */
const UNUSUAL = /[^\t\n\r\x20-\x7e]/;

/** Whether a text has a character that may have to go; most have none. */
export const needsALook = (text: string): boolean =>
  UNUSUAL.test(text) && nextToLookAt(text, 0, text.length) !== -1;

/** Where the next such character stands, from `from` on and before `to`; -1 if none does. */
export function nextToLookAt(text: string, from: number, to: number): number {
  for (let at = from; at < to; at++) if (TO_LOOK_AT[text.charCodeAt(at)] === 1) return at;
  return -1;
}

/** What stands around an invisible character. */
export interface Neighbours {
  readonly text: string;
  /** Where the character begins and ends (UTF-16 code units). */
  readonly at: number;
  readonly end: number;
  /** Whether the text has letters that are written from right to left. Computed once a text. */
  readonly isRightToLeft: () => boolean;
}

/** Whether the invisible character `code` is there by the rules of a script, of an emoji or of a file. */
export function isUsed(code: number, around: Neighbours): boolean {
  if (code < 0xa0) return false;
  if (code < 0x2000) return isUsedInLetters(code, around);
  if (code <= 0x206f) return isUsedInPunctuation(code, around);
  if (code === 0x3164 || code === 0xffa0) return HANGUL.test(before(around)) || HANGUL.test(after(around));
  if (code === 0xfeff) return around.at === 0;
  if (code >= 0xfe00 && code <= 0xfe0f) return SELECTED.test(before(around));
  return code >= 0xe0100 && code <= 0xe01ef && IDEOGRAPH.test(before(around));
}

function isUsedInLetters(code: number, around: Neighbours): boolean {
  switch (code) {
    case 0xad:
      return LETTER.test(before(around)) && LETTER.test(after(around));
    case 0x34f:
      return GRAPHEME.test(before(around));
    case 0x61c:
      return around.isRightToLeft();
    case 0x115f:
    case 0x1160:
      return HANGUL.test(before(around)) || HANGUL.test(after(around));
    default:
      return MONGOLIAN.test(before(around));
  }
}

function isUsedInPunctuation(code: number, around: Neighbours): boolean {
  switch (code) {
    case 0x200b:
      return UNSPACED.test(before(around)) || UNSPACED.test(after(around));
    case 0x200c:
      return JOINING.test(before(around));
    case 0x200d:
      return JOINING.test(before(around)) || (isEmojiPart(around) && EMOJI.test(after(around)));
    case 0x202d: // overrides show letters in another order than they are read
    case 0x202e:
      return false;
    default:
      return isDirection(code) && around.isRightToLeft();
  }
}

/** Marks, embeddings and isolates. */
const isDirection = (code: number): boolean =>
  code === 0x200e ||
  code === 0x200f ||
  (code >= 0x202a && code <= 0x202c) ||
  (code >= 0x2066 && code <= 0x2069);

/** Not one of the characters that need a look themselves. */
const SEEN =
  "(?![\\xAD\\u034F\\u061C\\u115F\\u1160\\u180B-\\u180F\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u206F\\u3164\\uFE00-\\uFE0F\\uFEFF\\uFFA0\\uFFF9-\\uFFFB\\u{E0000}-\\u{E0FFF}])";
const seen = (pattern: string): RegExp => new RegExp(`${SEEN}(?:${pattern})`, "u");
const scripts = (names: readonly string[]): RegExp =>
  seen(`[${names.map((script) => `\\p{scx=${script}}`).join("")}]`);

/** Letters and marks of scripts whose spelling has joiners, which may end a word. */
const JOINING = scripts([
  ...["Arab", "Syrc", "Mand", "Nkoo", "Mong", "Phag", "Adlm", "Rohg", "Mani", "Phlp", "Sogd"],
  ...["Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym", "Sinh", "Newa"],
  ...["Gran", "Shrd", "Tirh", "Kthi", "Modi", "Cakm", "Mtei", "Sylo", "Limb", "Lepc"],
  ...["Khmr", "Mymr", "Tibt", "Bali", "Java", "Sund", "Lana", "Cham", "Bugi", "Batk", "Rjng"],
]);
/** Those of scripts without spaces between words, in which one without width says where a line may break. */
const UNSPACED = scripts([
  ...["Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Bali", "Java", "Lana", "Talu", "Tale", "Tavt", "Cham"],
]);
const LETTER = seen("\\p{L}");
/** What a grapheme joiner keeps apart from the next mark. */
const GRAPHEME = seen("\\p{M}|(?![a-zA-Z])\\p{L}");
const MONGOLIAN = scripts(["Mong"]);
const HANGUL = scripts(["Hang"]);
const IDEOGRAPH = seen("\\p{Ideographic}");
const EMOJI = seen("\\p{Extended_Pictographic}");
/** What may stand before the joiner of an emoji. */
const EMOJI_PART = /(?:\p{Extended_Pictographic}|[\u{1F3FB}-\u{1F3FF}])\uFE0F?$/u;
/** What has several forms: emoji, the digits of keycaps, letters and signs beyond ASCII. */
const SELECTED = seen("[0-9#*]|(?=[\\xA9-\\u{10FFFF}])[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]");
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/** Whether a text has letters that are written from right to left. */
export const hasRightToLeft = (text: string): boolean => RIGHT_TO_LEFT.test(text);

/** The character before; empty at the beginning. */
function before({ text, at }: Neighbours): string {
  const isPair = at > 1 && (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00;
  return text.slice(Math.max(0, at - (isPair ? 2 : 1)), at);
}

const isEmojiPart = ({ text, at }: Neighbours): boolean =>
  EMOJI_PART.test(text.slice(Math.max(0, at - 3), at));

/** The character after; empty at the end. */
function after({ text, end }: Neighbours): string {
  const isPair = (text.charCodeAt(end) & 0xfc00) === 0xd800;
  return text.slice(end, end + (isPair ? 2 : 1));
}
