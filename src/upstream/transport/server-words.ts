/** What does a server itself say about an error, in the body of an HTTP response that is no answer? One short, clean line. */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { exceedsDepth } from "../../wire/json-scan.js";
import { parseJson } from "../../wire/json-text.js";
import { headerOf, type ResponseHeaders } from "./message-bodies.js";
import { printable } from "./recent-output.js";

/** Removes secrets from a text. */
export type Redact = (text: string) => string;

/** The longest quotation, in characters. */
const MAX_LENGTH = 200;
/** In bytes. Of a longer JSON body nothing is quoted, and of other ones only the beginning is read. */
const MAX_READ = 64 * 1024;
/** Secrets are redacted before the text is cut, in this many characters. */
const MAX_REDACTED = 4 * MAX_LENGTH;
const MAX_DEPTH = 32;

/** The words as the end of a sentence, `; it says: "…"`; empty where there are none. */
export function quotedWords(headers: ResponseHeaders, body: Buffer, redact: Redact = unchanged): string {
  const words = wordsIn(headers, body);
  if (words === undefined) return "";
  // Other quotation marks would end the quotation, and what follows would look like words of the gateway.
  const clean = redact(printable(words.slice(0, 4 * MAX_REDACTED)).slice(0, MAX_REDACTED))
    .replaceAll('"', "'")
    .trim();
  if (clean === "") return "";
  const shown = clean.length > MAX_LENGTH ? `${clean.slice(0, MAX_LENGTH - 1).toWellFormed()}…` : clean;
  return `; it says: "${shown}"`;
}

const unchanged: Redact = (text) => text;

function wordsIn(headers: ResponseHeaders, body: Buffer): string | undefined {
  const type = (headerOf(headers, "content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (body.length === 0 || !isText(type)) return undefined;
  const text = body
    .toString("utf8", 0, MAX_READ)
    .replace(/^\ufeff/, "")
    .trim();
  // Binary data without a type.
  if (text.includes("\0")) return undefined;
  // A server's word for its type is often wrong.
  if (/^[[{"]/.test(text)) return body.length > MAX_READ ? undefined : wordsOfJson(text);
  if (text.startsWith("<")) return wordsOfMarkup(text);
  return type === "text/event-stream" ? undefined : firstSentence(text);
}

const isText = (type: string): boolean =>
  type === "" ||
  type.startsWith("text/") ||
  /^application\/([\w.-]+\+)?(json|xml|xhtml)$|^application\/octet-stream$/.test(type);

function wordsOfJson(text: string): string | undefined {
  if (exceedsDepth(text, MAX_DEPTH)) return undefined;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return firstSentence(text);
  }
  return wordsOfValue(value, 2);
}

/** Short names of what happened, and explanations of it, in the order of preference. */
const LABELS = ["error", "title"];
const EXPLANATIONS = [
  "message",
  "Message",
  "error_description",
  "detail",
  "error_message",
  "errorMessage",
  "description",
  "reason",
  "msg",
];
/** Members that hold the error of some APIs. */
const CONTAINERS = ["error", "errors", "detail", "fault", "message"];

/** @param levels how deep it may be nested */
function wordsOfValue(value: unknown, levels: number): string | undefined {
  if (typeof value === "string") return textIn(value);
  if (Array.isArray(value)) return value.length === 0 ? undefined : wordsOfValue(value[0], levels);
  if (!isObject(value)) return undefined;
  const explanation = firstOf(value, EXPLANATIONS);
  const label = firstOf(value, LABELS);
  if (explanation !== undefined)
    return label === undefined || explanation.includes(label) ? explanation : `${label}: ${explanation}`;
  if (levels > 0) {
    for (const name of CONTAINERS) {
      const inner = Object.hasOwn(value, name) ? value[name] : undefined;
      const words = isObject(inner) || Array.isArray(inner) ? wordsOfValue(inner, levels - 1) : undefined;
      if (words !== undefined) return words;
    }
  }
  return label;
}

/** The first of these members that is a text with words in it. */
function firstOf(object: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textIn(stringAt(object, name));
    if (text !== undefined) return text;
  }
  return undefined;
}

const textIn = (text: string | undefined): string | undefined =>
  text === undefined || text.trim() === "" ? undefined : text;

/** The title of a page, else its first heading, else its first words. */
function wordsOfMarkup(text: string): string | undefined {
  for (const name of ["title", "h1", "message"]) {
    const words = elementText(text, name);
    if (words !== undefined) return words;
  }
  return firstSentence(withoutTags(text));
}

/** The text of the first element of this name that has one. */
function elementText(text: string, name: string): string | undefined {
  const lower = text.toLowerCase();
  // Upper and lower case have the same length except for few letters; a shifted text is still one of the page.
  const open = lower.indexOf(`<${name}`);
  const start = open === -1 ? -1 : lower.indexOf(">", open);
  const end = start === -1 ? -1 : lower.indexOf(`</${name}`, start);
  if (end === -1) return undefined;
  return textIn(withoutTags(text.slice(start + 1, end)));
}

/** The text between tags, without scripts, styles and comments. */
function withoutTags(markup: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < markup.length && parts.length < 200) {
    const open = markup.indexOf("<", at);
    if (open === -1) {
      parts.push(markup.slice(at));
      break;
    }
    parts.push(markup.slice(at, open), " ");
    const close = closingOf(markup, open);
    if (close === -1) break;
    at = close;
  }
  return decodedEntities(parts.join("")).trim();
}

/** Where what begins at `open` ends; -1 where it does not. */
function closingOf(markup: string, open: number): number {
  if (markup.startsWith("<!--", open)) {
    const end = markup.indexOf("-->", open);
    return end === -1 ? -1 : end + 3;
  }
  const hidden = /^<(script|style)\b/i.exec(markup.slice(open, open + 8))?.[1]?.toLowerCase();
  const from = hidden === undefined ? open : markup.toLowerCase().indexOf(`</${hidden}`, open);
  const end = from === -1 ? -1 : markup.indexOf(">", from);
  return end === -1 ? -1 : end + 1;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

const decodedEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,5}));/gi,
    (found, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? found;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : found;
    },
  );

/** The first line with words, to the end of its first sentence. */
function firstSentence(text: string): string | undefined {
  const line = text
    .slice(0, MAX_REDACTED * 4)
    .split(/[\r\n]/)
    .map((one) => one.trim())
    .find((one) => one !== "");
  if (line === undefined) return undefined;
  const end = /[.!?](?= +[\p{Lu}])/u.exec(line);
  return end === null ? line : line.slice(0, end.index + 1);
}
