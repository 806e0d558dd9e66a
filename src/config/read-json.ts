/** Reads JSON, with or without comments and trailing commas, into a tree. */
import {
  createScanner,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  visit,
} from "jsonc-parser";
import {
  type Fault,
  MAX_DEPTH,
  MAX_FAULTS,
  MAX_VALUES,
  type Member,
  type ParseResult,
  type Tree,
} from "./tree.js";

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
  const excess = firstExcess(text);
  if (excess !== undefined) return { faults: [excess] };
  const errors = syntaxErrors(text);
  const root = errors.length > 0 ? undefined : parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) return { faults: syntaxFaults(text, errors) };
  const faults: Fault[] = [];
  return { tree: convert(root, faults), faults };
}

/** The first errors; a text of commas alone has one for each. */
function syntaxErrors(text: string): readonly ParseError[] {
  const errors: ParseError[] = [];
  const enough = new Error("enough");
  try {
    visit(
      text,
      {
        onError: (error, offset, length) => {
          errors.push({ error, offset, length });
          if (errors.length >= MAX_FAULTS) throw enough;
        },
      },
      { allowTrailingComma: true },
    );
  } catch (error) {
    if (error !== enough) throw error;
  }
  return errors;
}

function syntaxFaults(text: string, errors: readonly ParseError[]): readonly Fault[] {
  if (text.trim() === "") return [{ offset: 0, message: "the file is empty" }];
  // One mistake causes several parser errors; only the first of a line is reported.
  const lines = new Map<number, Fault>();
  const lineOf = lineCounter(text);
  for (const { error, offset } of errors) {
    const line = lineOf(offset);
    const message = SENTENCES[printParseErrorCode(error)] ?? "this is not JSON";
    if (!lines.has(line)) lines.set(line, { offset, message });
  }
  return [...lines.values()];
}

/** The number of line breaks before an offset; the offsets must not decrease. */
function lineCounter(text: string): (offset: number) => number {
  let [line, next] = [0, text.indexOf("\n")];
  return (offset) => {
    for (; next !== -1 && next < offset; next = text.indexOf("\n", next + 1)) line += 1;
    return line;
  };
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

/** Too deep nesting, or too many values; found first, because the parser itself recurses and keeps all of them. */
function firstExcess(text: string): Fault | undefined {
  // SyntaxKind is a const enum, which isolated modules cannot see: { } [ ] , : are 1 to 6, values 7 to 11, the end is 17.
  const scanner = createScanner(text, true);
  let depth = 0;
  let texts = 0;
  for (let token: number = scanner.scan(); token !== 17; token = scanner.scan()) {
    if (token === 1 || token === 3) depth += 1;
    if (token === 2 || token === 4) depth -= 1;
    if (token !== 2 && token !== 4 && token !== 5 && token !== 6 && token < 12) texts += 1;
    if (depth > MAX_DEPTH)
      return { offset: scanner.getTokenOffset(), message: `nested more than ${MAX_DEPTH} levels deep` };
    // Keys are texts, too.
    if (texts > 2 * MAX_VALUES)
      return {
        offset: scanner.getTokenOffset(),
        message: `more than ${MAX_VALUES} values; no config has so many`,
      };
  }
  return undefined;
}
