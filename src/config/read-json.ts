/** Reads JSON, with or without comments and trailing commas, into a tree. */
import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { type Fault, MAX_DEPTH, type Member, type ParseResult, type Tree } from "./tree.js";

/** Explanations of the parser's errors. */
const SENTENCES: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is not JSON; names and text need double quotes",
  InvalidNumberFormat: "this is not a number as JSON writes it",
  PropertyNameExpected: "a name in double quotes is missing here",
  ValueExpected: "a value is missing here",
  ColonExpected: "a colon is missing here",
  CommaExpected: "a comma is missing before this",
  CloseBraceExpected: "a closing } is missing",
  CloseBracketExpected: "a closing ] is missing",
  EndOfFileExpected: "the file should have ended here",
  UnexpectedEndOfComment: "this comment never ends",
  UnexpectedEndOfString: "the closing quote of this text is missing",
  UnexpectedEndOfNumber: "this number is not complete",
  InvalidUnicode: "this \\u escape is not complete",
  InvalidEscapeCharacter: "this escape is not one of JSON's",
  InvalidCharacter: "a control character must be written as an escape",
};

/** Parses JSONC into a tree with positions. */
export function readJson(text: string): ParseResult {
  const tooDeep = firstTooDeep(text);
  if (tooDeep !== undefined) {
    return { faults: [{ offset: tooDeep, message: `nested more than ${MAX_DEPTH} levels deep` }] };
  }
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  if (errors.length > 0 || root === undefined) return { faults: syntaxFaults(text, errors) };
  const faults: Fault[] = [];
  return { tree: convert(root, faults), faults };
}

function syntaxFaults(text: string, errors: readonly ParseError[]): readonly Fault[] {
  if (text.trim() === "") return [{ offset: 0, message: "the file is empty" }];
  // One mistake causes several parser errors; only the first of a line is reported.
  const lines = new Map<number, Fault>();
  for (const { error, offset } of errors) {
    const line = text.lastIndexOf("\n", offset - 1);
    const message = SENTENCES[printParseErrorCode(error)] ?? "this is not JSON";
    if (!lines.has(line)) lines.set(line, { offset, message });
  }
  return [...lines.values()];
}

function convert(node: Node, faults: Fault[]): Tree {
  const { offset } = node;
  if (node.type === "array") {
    return { kind: "array", offset, items: (node.children ?? []).map((child) => convert(child, faults)) };
  }
  if (node.type !== "object") return { kind: "scalar", offset, value: node.value };
  const members = new Map<string, Member>();
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? [];
    if (key === undefined || value === undefined) continue;
    const name = String(key.value);
    if (members.has(name)) {
      faults.push({ offset: key.offset, message: `duplicate key ${JSON.stringify(name)}` });
    } else {
      members.set(name, { keyOffset: key.offset, value: convert(value, faults) });
    }
  }
  return { kind: "object", offset, members };
}

/** The position of too deep nesting; checked first, because the parser itself recurses. */
function firstTooDeep(text: string): number | undefined {
  // SyntaxKind is a const enum, which isolated modules cannot see: { } [ ] are 1 to 4, the end is 17.
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== 17; token = scanner.scan()) {
    if (token === 1 || token === 3) depth += 1;
    if (token === 2 || token === 4) depth -= 1;
    if (depth > MAX_DEPTH) return scanner.getTokenOffset();
  }
  return undefined;
}
