/** Changes one value in the text of a YAML file; where it can, it keeps every other line unchanged. */
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import type { Document, Pair, ParsedNode, YAMLMap } from "yaml";
import type { Path } from "../../config/tree.js";

const require = createRequire(import.meta.url);

/**
 * The text with `value` at `path`; `undefined` removes what is there. An entry of a block of keys is added or removed as
 * lines of its own; for anything else the document is written again, with its comments.
 */
export function editYaml(text: string, path: Path, value: unknown): string {
  const { parseDocument } = require("yaml") as typeof import("yaml");
  const document = parseDocument(text, { keepSourceTokens: true });
  const byLines = editLines(text, document, path, value);
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, document.createNode(value));
  const wanted: unknown = document.toJS();
  if (byLines !== undefined && isDeepStrictEqual(parseDocument(byLines).toJS(), wanted)) return byLines;
  const indentSeq = !/^( *)[^\s#-][^\n]*:\s*\n\1- /m.test(text);
  return document.toString({ lineWidth: 0, indent: indentOf(text), indentSeq });
}

/** One level of indentation, in spaces. */
const indentOf = (text: string): number => Math.max(2, Math.min(8, /\n( +)\S/.exec(text)?.[1]?.length ?? 2));

type Block = YAMLMap<ParsedNode, ParsedNode | null>;

/** `undefined` where the entry has no lines for itself: in brackets, or in a list. */
function editLines(text: string, document: Document.Parsed, path: Path, value: unknown): string | undefined {
  const { isMap } = require("yaml") as typeof import("yaml");
  const key = path.at(-1);
  const block = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (typeof key !== "string" || !isMap(block) || block.flow === true) return undefined;
  const { items } = block as Block;
  const at = items.findIndex((pair) => keyText(pair) === key);
  if (value !== undefined) return at === -1 ? insertLines(text, items, key, value) : undefined;
  return at === -1 || items.length === 1 ? undefined : removeLines(text, items, at);
}

function insertLines(text: string, items: Block["items"], key: string, value: unknown): string | undefined {
  const { stringify } = require("yaml") as typeof import("yaml");
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const end = lineEnd(text, endOf(last));
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const column = first.key.range[0] - lineStart(text, first.key.range[0]);
  const lines = stringify({ [key]: value }, { lineWidth: 0, indent: indentOf(text) })
    .trimEnd()
    .split("\n")
    .map((line) => " ".repeat(column) + line);
  const before = text.slice(0, end);
  return `${before}${before.endsWith("\n") ? "" : eol}${lines.join(eol)}${eol}${text.slice(end)}`;
}

function removeLines(text: string, items: Block["items"], at: number): string | undefined {
  const pair = items[at];
  if (pair === undefined) return undefined;
  const from = lineStart(text, pair.key.range[0]);
  return text.slice(0, from) + text.slice(lineEnd(text, endOf(pair)));
}

const keyText = ({ key }: Pair<ParsedNode, ParsedNode | null>): unknown =>
  "value" in key ? key.value : undefined;

/** Where the text of the value ends, without white space. */
const endOf = ({ key, value }: Pair<ParsedNode, ParsedNode | null>): number => (value ?? key).range[1];

const lineStart = (text: string, offset: number): number => text.lastIndexOf("\n", offset - 1) + 1;

/** Behind the line that ends the text before `offset`. */
function lineEnd(text: string, offset: number): number {
  const content = text.slice(0, offset).trimEnd().length;
  const end = text.indexOf("\n", content);
  return end === -1 ? text.length : end + 1;
}
