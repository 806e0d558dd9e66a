/** What does a page say? The text of HTML, without scripts and styles; one pass over it. */

/** Elements whose content is no text of the page. */
const SILENT: ReadonlySet<string> = new Set(["script", "style", "noscript", "svg", "template", "head"]);
/** Elements within a line. */
const INLINE: ReadonlySet<string> = new Set([
  ...["a", "abbr", "b", "code", "em", "i", "img", "kbd", "mark", "q", "s", "small", "span", "strong"],
  ...["sub", "sup", "time", "u", "wbr", "font", "label", "input", "button"],
]);
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", copy: "©", mdash: "—", ndash: "–" },
  ...{ hellip: "…", laquo: "«", raquo: "»", middot: "·", bull: "•", rsquo: "’", lsquo: "‘" },
};

/** The name of a tag, from its bracket on. */
const TAG = /<\/?([a-z][a-z0-9]{0,20})/iy;

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
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    parts.push(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      at = end === -1 ? html.length : end + 3;
      continue;
    }
    const close = html.indexOf(">", open);
    if (close === -1) break;
    TAG.lastIndex = open;
    const name = TAG.exec(html)?.[1]?.toLowerCase() ?? "";
    at = close + 1;
    if (SILENT.has(name) && html[open + 1] !== "/") at = endOfElement(html, name, at);
    if (!INLINE.has(name)) parts.push("\n");
  }
  const text = parts
    .join("")
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n[ \n]*/g, "\n");
  return decoded(text.trim());
}

/** Behind the end tag of the element; at the end of the text where there is none. */
function endOfElement(html: string, name: string, from: number): number {
  for (let at = html.indexOf("</", from); at !== -1; at = html.indexOf("</", at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() !== name) continue;
    const close = html.indexOf(">", at);
    return close === -1 ? html.length : close + 1;
  }
  return html.length;
}

const decoded = (text: string): string =>
  text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
    const isHex = name[1]?.toLowerCase() === "x";
    const code = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
