/** Characters that people do not see, by which a text says more to a model than to its reader. */
import type { Match, Severity } from "../finding.js";
import { type HiddenKind, hiddenKind, isRightToLeft, joins } from "../text/characters.js";

interface HiddenRule {
  readonly severity: Severity;
  readonly message: string;
  /** The least number of such characters in a text. */
  readonly least: number;
}

const BY_KIND: Readonly<Record<HiddenKind, HiddenRule>> = {
  tag: { severity: "high", message: "it has invisible tag characters", least: 1 },
  bidi: { severity: "high", message: "it has characters that change the direction of text", least: 1 },
  "bidi-mark": { severity: "low", message: "it has invisible marks of direction", least: 1 },
  "zero-width": { severity: "medium", message: "it has characters without width", least: 1 },
  joiner: { severity: "medium", message: "it has joiners in a script without them", least: 1 },
  // One behind an emoji is how it is written; many in a row are bytes.
  selector: {
    severity: "high",
    message: "it has a row of variation selectors, which can carry bytes",
    least: 4,
  },
  control: { severity: "high", message: "it has control characters", least: 1 },
  "private-use": { severity: "medium", message: "it has characters of private use", least: 1 },
  filler: { severity: "medium", message: "it has letters without a shape", least: 1 },
};

/** From this number of kinds in one text on, each is severe. */
const MANY_KINDS = 3;
/** The number of line breaks or blanks in a row that push what follows out of sight. */
const FAR = { lines: 16, blanks: 80 } as const;

/** Most texts have nothing else than these. */
const UNUSUAL = /[^\t\n\r\x20-\x7e]/;

/** What no reader of `text` sees. Linear in its length. */
export function* hiddenMatches(text: string): Generator<Match> {
  const found = UNUSUAL.test(text) ? hiddenIn(text) : new Map<HiddenKind, Place>();
  const kinds = [...found].filter(([kind, { count }]) => count >= BY_KIND[kind].least);
  for (const [kind, { first, last }] of kinds) {
    const { severity, message } = BY_KIND[kind];
    yield {
      rule: "hidden-text",
      severity: kinds.length >= MANY_KINDS ? "high" : severity,
      message,
      start: first,
      end: last,
    };
  }
  const far = text.length < FAR.lines ? undefined : farAway(text);
  if (far !== undefined)
    yield {
      rule: "hidden-text",
      severity: "medium",
      message: "it has text far out of sight",
      start: far,
      end: far + 1,
    };
}

/** Where the first text stands that follows very much white space. */
function farAway(text: string): number | undefined {
  let lines = 0;
  let blanks = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x0a) {
      lines += 1;
      blanks = 0;
    } else if (code === 0x20 || code === 0x09 || code === 0xa0 || code === 0x3000) blanks += 1;
    else if (code !== 0x0d) {
      if (at > 0 && (lines >= FAR.lines || (blanks >= FAR.blanks && lines === 0))) return at;
      lines = 0;
      blanks = 0;
    }
  }
  return undefined;
}

interface Place {
  readonly first: number;
  last: number;
  count: number;
}

function hiddenIn(text: string): ReadonlyMap<HiddenKind, Place> {
  const found = new Map<HiddenKind, Place>();
  let row = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.codePointAt(at) ?? 0;
    const size = code > 0xffff ? 2 : 1;
    const kind = code < 0x7f && code >= 0x20 ? undefined : hiddenKind(code);
    at += size - 1;
    row = kind === "selector" ? row + 1 : 0;
    if (kind === undefined || isSpelling(kind, text, at + 1 - size, size, row)) continue;
    const place = found.get(kind) ?? { first: at + 1 - size, last: 0, count: 0 };
    found.set(kind, place);
    place.last = at + 1;
    place.count += kind === "selector" ? row : 1;
  }
  return found;
}

/** Whether the invisible character is how the word around it is written. */
function isSpelling(kind: HiddenKind, text: string, at: number, size: number, row: number): boolean {
  if (kind === "selector") return row === 1;
  if (kind === "bidi-mark") return isRightToLeft(text);
  if (kind === "tag") return isFlag(text, at);
  if (kind === "zero-width")
    return (at === 0 && text.charCodeAt(0) === 0xfeff) || text.charCodeAt(at) === 0xad;
  return kind === "joiner" && joins(characterBefore(text, at)) && joins(text.slice(at + size, at + size + 2));
}

/** Flags of regions are written as a black flag with up to six tags: England, Scotland, Wales. */
function isFlag(text: string, at: number): boolean {
  let begin = at;
  while (begin >= 2 && at - begin < 14 && text.charCodeAt(begin - 2) === 0xdb40) begin -= 2;
  return at - begin < 14 && text.codePointAt(begin - 2) === 0x1f3f4;
}

function characterBefore(text: string, at: number): string {
  const isPair = at > 1 && (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00;
  return text.slice(Math.max(0, at - (isPair ? 2 : 1)), at);
}
