/** What does a page say? The text of HTML, without scripts and styles; one pass over it. */

/** Elements whose content is no text of the page. */
const SILENT = ["script", "style", "noscript", "svg", "template", "head"];
/** Elements within a line. */
const INLINE = [
  ...["a", "abbr", "b", "code", "em", "i", "img", "kbd", "mark", "q", "s", "small", "span", "strong"],
  ...["sub", "sup", "time", "u", "wbr", "font", "label", "input", "button"],
];

/** An element that is no block of text. */
interface KnownElement {
  readonly name: string;
  /** Else it is within a line. */
  readonly isSilent: boolean;
}

/** By the hash of their names: a string for each tag would cost more than the search. */
const KNOWN: ReadonlyMap<number, KnownElement> = new Map(
  [...SILENT, ...INLINE].map((name) => [
    [...name].reduce((hash, letter) => hashWith(hash, letter.charCodeAt(0)), 0),
    { name, isSilent: SILENT.includes(name) },
  ]),
);

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", copy: "©", mdash: "—", ndash: "–" },
    ...{ hellip: "…", laquo: "«", raquo: "»", middot: "·", bull: "•", rsquo: "’", lsquo: "‘" },
  }),
);

/** How much of a text is looked at to find out what it is (characters). */
const SAMPLE = 2_000;

/** Whether a text is a page or a part of one. */
export function isHtml(text: string): boolean {
  const start = text.slice(0, SAMPLE).trimStart().toLowerCase();
  if (start.startsWith("<!doctype html") || start.startsWith("<html")) return true;
  if (!start.startsWith("<")) return false;
  return (
    ["<div", "<p>", "<span", "<table", "<body", "<ul", "<h1", "<section"].filter((tag) => start.includes(tag))
      .length >= 2
  );
}

/** Its text: a line for each block, white space as one space. */
export function textOfHtml(html: string): string {
  const page = new PageText(html);
  let at = 0;
  while (at < html.length) {
    const open = page.addUntilTag(at);
    if (open === html.length) break;
    if (html.charCodeAt(open + 1) === EXCLAMATION && html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      at = end === -1 ? html.length : end + 3;
      continue;
    }
    const close = html.indexOf(">", open);
    if (close === -1) break;
    const isEnd = html.charCodeAt(open + 1) === SLASH;
    const element = elementAt(html, isEnd ? open + 2 : open + 1);
    at = close + 1;
    if (element?.isSilent === true && !isEnd) at = endOfElement(html, element.name, at);
    if (element?.isSilent !== false) page.breakLine();
  }
  return page.toString();
}

/** Between two characters that are no white space. */
const NOTHING = 0;
const SPACE = 1;
const BREAK = 2;

/** The text of a page as it grows, in runs of characters: a string for each piece would cost more than the page. */
class PageText {
  readonly #html: string;
  readonly #parts: string[] = [];
  /** The characters behind the parts; `#bytes` has the same where each is one byte. */
  readonly #codes: Uint16Array;
  readonly #bytes: Uint8Array;
  #length = 0;
  /** Their bits. */
  #seen = 0;
  #gap: typeof NOTHING | typeof SPACE | typeof BREAK = NOTHING;

  constructor(html: string) {
    this.#html = html;
    const size = Math.min(RUN, html.length);
    this.#codes = new Uint16Array(size);
    this.#bytes = new Uint8Array(size);
  }

  breakLine(): void {
    this.#gap = BREAK;
  }

  /** Adds the text from `start` to the next bracket; returns where that is, or the length of the page. */
  addUntilTag(start: number): number {
    const html = this.#html;
    let at = start;
    for (; at < html.length; at++) {
      const code = html.charCodeAt(at);
      if (code === OPEN) break;
      if (isSpace(code)) {
        if (code === LINE_FEED) this.#gap = BREAK;
        else if (this.#gap === NOTHING) this.#gap = SPACE;
        continue;
      }
      if (this.#gap !== NOTHING) this.#closeGap();
      const entity = code === AMPERSAND ? entityAt(html, at) : undefined;
      if (entity === undefined) this.#put(code);
      else {
        for (let unit = 0; unit < entity.text.length; unit++) this.#put(entity.text.charCodeAt(unit));
        at += entity.length - 1;
      }
    }
    return at;
  }

  #closeGap(): void {
    // There is none at the beginning.
    if (this.#length > 0 || this.#parts.length > 0) this.#put(this.#gap === BREAK ? LINE_FEED : BLANK);
    this.#gap = NOTHING;
  }

  #put(code: number): void {
    if (this.#length === this.#codes.length) this.#flush();
    this.#codes[this.#length] = code;
    this.#bytes[this.#length] = code;
    this.#seen |= code;
    this.#length += 1;
  }

  #flush(): void {
    this.#parts.push(
      this.#seen < 256
        ? Buffer.from(this.#bytes.buffer, 0, this.#length).toString("latin1")
        : Buffer.from(this.#codes.buffer, 0, this.#length * 2).toString("utf16le"),
    );
    this.#length = 0;
    this.#seen = 0;
  }

  toString(): string {
    this.#flush();
    return this.#parts.join("");
  }
}

/** Characters of a run. */
const RUN = 8_192;

/** White space, as regular expressions have it. */
const isSpace = (code: number): boolean =>
  code <= BLANK ? code === BLANK || (code >= 9 && code <= 13) : code >= 0xa0 && WIDE_SPACE.has(code);

const WIDE_SPACE: ReadonlySet<number> = new Set([
  ...[0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
  ...Array.from({ length: 11 }, (_, at) => 0x2000 + at),
]);

/** The element whose name begins at `start`; undefined for a block, and for what is none. */
function elementAt(html: string, start: number): KnownElement | undefined {
  let end = start;
  let hash = 0;
  for (; ; end++) {
    const code = html.charCodeAt(end) | CASE;
    const isLetter = code >= SMALL_A && code <= SMALL_Z;
    if (!isLetter && (end === start || code < ZERO || code > NINE)) break;
    hash = hashWith(hash, code);
  }
  const element = KNOWN.get(hash);
  if (element?.name.length !== end - start) return undefined;
  for (let at = start; at < end; at++)
    if ((html.charCodeAt(at) | CASE) !== element.name.charCodeAt(at - start)) return undefined;
  return element;
}

/** Of small letters and digits. */
function hashWith(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) & 0x3fffffff;
}

const LINE_FEED = 10;
const EXCLAMATION = 33;
const BLANK = 32;
const AMPERSAND = 38;
const SLASH = 47;
const SEMICOLON = 59;
const OPEN = 60;
const ZERO = 48;
const NINE = 57;
const CASE = 32;
const SMALL_A = 97;
const SMALL_Z = 122;

/** Behind the end tag of the element; at the end of the text where there is none. */
function endOfElement(html: string, name: string, from: number): number {
  for (let at = html.indexOf("</", from); at !== -1; at = html.indexOf("</", at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() !== name) continue;
    const close = html.indexOf(">", at);
    return close === -1 ? html.length : close + 1;
  }
  return html.length;
}

/** How long an entity is, from its ampersand to its semicolon (characters). */
const MAX_ENTITY = 10;

/** What the entity at `start` stands for, never longer than it; undefined for one that is unknown, and for what is none. */
function entityAt(
  html: string,
  start: number,
): { readonly text: string; readonly length: number } | undefined {
  let end = start + 1;
  while (end - start < MAX_ENTITY && html.charCodeAt(end) !== SEMICOLON) end++;
  if (html.charCodeAt(end) !== SEMICOLON) return undefined;
  const name = html.slice(start + 1, end);
  const text = name.startsWith("#") ? characterOf(name) : ENTITIES.get(name.toLowerCase());
  return text === undefined ? undefined : { text, length: end + 1 - start };
}

function characterOf(name: string): string | undefined {
  const hex = /^#x([0-9a-f]{1,6})$/i.exec(name)?.[1];
  const decimal = /^#([0-9]{1,7})$/.exec(name)?.[1];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
