/** Reads TOML, as used by Codex, into a tree; the parser keeps no positions, so all values are at offset 0. */
import { createRequire } from "node:module";
import { type Fault, MAX_DEPTH, type Member, type ParseResult, type Tree } from "../../config/tree.js";

const require = createRequire(import.meta.url);

/** Parses TOML into a tree; faults of the syntax have their place, all else has offset 0. */
export function readToml(text: string): ParseResult {
  const { parse, TomlError } = require("smol-toml") as typeof import("smol-toml");
  try {
    const faults: Fault[] = [];
    const tree = treeOf(parse(text), 0, faults);
    return { tree, faults };
  } catch (error) {
    // The parser's own message quotes the text, which may be a secret.
    const offset = error instanceof TomlError ? offsetOf(text, error.line, error.column) : 0;
    return { faults: [{ offset, message: "this is not TOML" }] };
  }
}

function treeOf(value: unknown, depth: number, faults: Fault[]): Tree {
  if (depth > MAX_DEPTH) {
    faults.push({ offset: 0, message: `nested more than ${MAX_DEPTH} levels deep` });
    return { kind: "scalar", offset: 0, value: null };
  }
  if (Array.isArray(value)) {
    return { kind: "array", offset: 0, items: value.map((item) => treeOf(item, depth + 1, faults)) };
  }
  if (typeof value === "object" && value !== null && !(value instanceof Date)) {
    const members = Object.entries(value).map(([key, inner]): [string, Member] => [
      key,
      { keyOffset: 0, value: treeOf(inner, depth + 1, faults) },
    ]);
    return { kind: "object", offset: 0, members: new Map(members) };
  }
  return { kind: "scalar", offset: 0, value: scalarOf(value) };
}

/** Dates become text. */
function scalarOf(value: unknown): string | number | boolean {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return value instanceof Date ? value.toISOString() : String(value);
}

/** `line` and `column` count from 1. */
function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let count = 1; count < line; count += 1) start = text.indexOf("\n", start) + 1;
  return start + column - 1;
}
