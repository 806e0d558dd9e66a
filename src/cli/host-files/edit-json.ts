/** Changes one value in the text of a JSON or JSONC file; comments, layout and all other text stay unchanged. */
import { createScanner, findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import type { Path } from "../../config/tree.js";

/** Values are broken into lines beyond this column. */
const MAX_COLUMN = 100;

/**
 * The text with `value` at `path`; `undefined` removes what is there. An index equal to the length of its array appends.
 * Missing objects on the way are created. A comment behind a removed entry on its line goes with it, those above it stay.
 *
 * @throws RangeError if the text has no object or array where `path` needs one
 */
export function editJson(text: string, path: Path, value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new RangeError("the file is empty");
  const editor = new JsonEditor(text);
  if (value === undefined) return editor.remove(root, path);
  const existing = findNodeAtLocation(root, [...path]);
  if (existing !== undefined) return editor.replace(existing, value);
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const owner = depth === 0 ? root : findNodeAtLocation(root, path.slice(0, depth));
    if (owner === undefined) continue;
    return editor.insert(owner, path[depth] ?? 0, nested(path.slice(depth + 1), value));
  }
  return text;
}

/** `value` nested in the objects and arrays of its path. */
const nested = (path: Path, value: unknown): unknown =>
  path.reduceRight<unknown>((inner, step) => (typeof step === "number" ? [inner] : { [step]: inner }), value);

class JsonEditor {
  readonly #text: string;
  readonly #eol: string;
  /** One level of indentation. */
  readonly #unit: string;

  constructor(text: string) {
    this.#text = text;
    this.#eol = text.includes("\r\n") ? "\r\n" : "\n";
    this.#unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  }

  replace({ offset, length }: Node, value: unknown): string {
    return this.#splice(offset, offset + length, this.#format(value, this.#indentAt(offset), 0));
  }

  insert(owner: Node, key: string | number, value: unknown): string {
    if (owner.type !== (typeof key === "number" ? "array" : "object")) {
      throw new RangeError(`there is no ${typeof key === "number" ? "list" : "object"} where one is needed`);
    }
    const name = typeof key === "number" ? "" : `${JSON.stringify(key)}: `;
    const last = owner.children?.at(-1);
    if (last === undefined) return this.#insertIntoEmpty(owner, name, value);
    const end = last.offset + last.length;
    const comma = this.#commaAfter(end);
    const first = owner.children?.[0] ?? last;
    if (!this.#text.slice(owner.offset, first.offset).includes("\n")) {
      const entry = name + this.#format(value, this.#indentAt(owner.offset), name.length);
      return comma === undefined
        ? this.#splice(end, end, `, ${entry}`)
        : this.#splice(comma + 1, comma + 1, ` ${entry},`);
    }
    const indent = this.#indentAt(first.offset);
    const entry = `${this.#eol}${indent}${name}${this.#format(value, indent, name.length)}`;
    const lineEnd = this.#endOfEntry(comma === undefined ? end : comma + 1);
    const withEntry = this.#splice(lineEnd, lineEnd, comma === undefined ? entry : `${entry},`);
    return comma === undefined ? `${withEntry.slice(0, end)},${withEntry.slice(end)}` : withEntry;
  }

  remove(root: Node, path: Path): string {
    const node = findNodeAtLocation(root, [...path]);
    const entry = node?.parent?.type === "property" ? node.parent : node;
    const siblings = entry?.parent?.children ?? [];
    if (entry === undefined || entry.parent === undefined) return this.#text;
    const at = siblings.indexOf(entry);
    const [previous, next] = [siblings[at - 1], siblings[at + 1]];
    const end = entry.offset + entry.length;
    const comma = this.#commaAfter(end);
    const [from, to] = this.#rangeOf(entry, comma === undefined ? end : comma + 1, previous, next);
    const without = this.#splice(from, to, "");
    if (next !== undefined || previous === undefined || comma !== undefined) return without;
    // The entry was the last one without a trailing comma, so the comma before it would dangle.
    const dangling = this.#commaAfter(previous.offset + previous.length);
    if (dangling === undefined || dangling >= from) return without;
    return without.slice(0, dangling) + without.slice(dangling + 1);
  }

  /** Whole lines if the entry has them for itself, otherwise its text up to its neighbour. */
  #rangeOf(entry: Node, end: number, previous: Node | undefined, next: Node | undefined): [number, number] {
    const lineStart = this.#text.lastIndexOf("\n", entry.offset - 1) + 1;
    const lineEnd = this.#endOfEntry(end);
    const alone =
      this.#text.slice(lineStart, entry.offset).trim() === "" &&
      lineStart > 0 &&
      /^\r?\n/.test(this.#text.slice(lineEnd));
    if (alone) return [lineStart, this.#text.indexOf("\n", lineEnd) + 1];
    if (next !== undefined) return [entry.offset, next.offset];
    return [previous === undefined ? entry.offset : previous.offset + previous.length, end];
  }

  #insertIntoEmpty(owner: Node, name: string, value: unknown): string {
    const outer = this.#indentAt(owner.offset);
    const indent = outer + this.#unit;
    const entry = `${indent}${name}${this.#format(value, indent, name.length)}${this.#eol}`;
    const close = owner.offset + owner.length - 1;
    // A comment inside stays where it is; the entry comes after it.
    if (this.#text.slice(owner.offset, close).includes("\n")) {
      const lineStart = this.#text.lastIndexOf("\n", close) + 1;
      return this.#splice(lineStart, lineStart, entry);
    }
    return this.#splice(close, close, `${this.#eol}${entry}${outer}`);
  }

  /** The position of the comma after an entry; undefined if a bracket follows. */
  #commaAfter(end: number): number | undefined {
    const scanner = createScanner(this.#text, true);
    scanner.setPosition(end);
    // SyntaxKind is a const enum, which isolated modules cannot see: a comma is 5.
    return scanner.scan() === 5 ? scanner.getTokenOffset() : undefined;
  }

  /** The end of a comment on the same line; `from` if something else follows. */
  #endOfEntry(from: number): number {
    const rest = this.#text.slice(from, this.#lineEnd(from));
    return /^[ \t]*(?:\/\/.*|\/\*(?:(?!\*\/).)*\*\/[ \t]*)?$/.test(rest) ? from + rest.length : from;
  }

  #lineEnd(from: number): number {
    const end = this.#text.indexOf("\n", from);
    if (end === -1) return this.#text.length;
    return this.#text[end - 1] === "\r" && end > from ? end - 1 : end;
  }

  /** The white space at the beginning of the line of `offset`. */
  #indentAt(offset: number): string {
    const lineStart = this.#text.lastIndexOf("\n", offset - 1) + 1;
    return /^[ \t]*/.exec(this.#text.slice(lineStart, offset))?.[0] ?? "";
  }

  /** On one line if it fits, otherwise one line per entry. */
  #format(value: unknown, indent: string, column: number): string {
    const line = oneLine(value);
    if (typeof value !== "object" || value === null || indent.length + column + line.length <= MAX_COLUMN)
      return line;
    const inner = indent + this.#unit;
    const isList = Array.isArray(value);
    const entries = isList
      ? value.map((item: unknown) => this.#format(item, inner, 0))
      : Object.entries(value).map(([key, member]) => {
          const name = `${JSON.stringify(key)}: `;
          return name + this.#format(member, inner, name.length);
        });
    const lines = entries.map((entry) => `${inner}${entry}`).join(`,${this.#eol}`);
    const [open, close] = isList ? ["[", "]"] : ["{", "}"];
    return `${open}${this.#eol}${lines}${this.#eol}${indent}${close}`;
  }

  #splice(from: number, to: number, text: string): string {
    return this.#text.slice(0, from) + text + this.#text.slice(to);
  }
}

/** `{ "a": [1, 2] }`. */
function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${oneLine(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
