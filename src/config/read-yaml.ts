/** Reads YAML 1.2 into a tree, with aliases and merge keys already followed. */
import { createRequire } from "node:module";
import type { Alias, Document, ParsedNode, YAMLMap } from "yaml";
import {
  type Fault,
  MAX_DEPTH,
  MAX_VALUES,
  type Member,
  type ObjectTree,
  type ParseResult,
  type Tree,
} from "./tree.js";

/** What the parser's codes mean; its own messages quote the text, which may be a secret. */
const SENTENCES: Readonly<Record<string, string>> = {
  BAD_ALIAS: "this alias is not right",
  BAD_DQ_ESCAPE: "this escape is not one of YAML's",
  BAD_INDENT: "the indentation is not right here, or a bracket is missing",
  BAD_SCALAR_START: "text that begins with this must be quoted",
  BLOCK_AS_IMPLICIT_KEY: "a second colon on this line, or the next line is indented too far",
  BLOCK_IN_FLOW: "a block cannot be inside brackets",
  KEY_OVER_1024_CHARS: "a key of more than 1024 characters",
  MISSING_CHAR: "a closing quote, a colon or a comma is missing",
  MULTILINE_IMPLICIT_KEY: "a key cannot span lines; is a colon missing?",
  MULTIPLE_DOCS: "a second document begins here; a config is one document",
  NON_STRING_KEY: "keys must be text",
  TAB_AS_INDENT: "a tab cannot indent; use spaces",
  TAG_RESOLVE_FAILED: "tags are not supported",
};

/** Its parser needs about 2 s for 512 Ki characters, whatever they are. */
const MAX_CHARACTERS = 524_288;

type Library = typeof import("yaml");

const require = createRequire(import.meta.url);

/** Parses YAML into a tree with positions. */
export function readYaml(text: string): ParseResult {
  if (text.length > MAX_CHARACTERS)
    return { faults: [{ offset: 0, message: "YAML of more than 512 KiB is not read; JSON may be longer" }] };
  // Most configs are JSON, and what is loaded stays in memory.
  const yaml = require("yaml") as Library;
  try {
    // Duplicate keys are found below: the parser compares keys as values, so that 1 and "1" pass it.
    const options = { prettyErrors: false, keepSourceTokens: false, uniqueKeys: false };
    const document = yaml.parseDocument(text, options);
    // One mistake may cause several errors at one place; only the first is reported.
    const found = new Map<number, Fault>();
    for (const { code, pos } of [...document.errors, ...document.warnings]) {
      const offset = pos[0];
      if (!found.has(offset)) found.set(offset, { offset, message: SENTENCES[code] ?? "this is not YAML" });
    }
    const faults = [...found.values()];
    if (document.errors.length > 0) return { faults };
    if (document.contents === null) return { faults: [{ offset: 0, message: "the file is empty" }] };
    const converter = new Converter(document, yaml);
    const tree = converter.convert(document.contents, 0);
    return { tree, faults: [...faults, ...converter.faults] };
  } catch (error) {
    // Also the parser's own limit: 20,000 nested brackets end in a RangeError.
    if (error instanceof YamlLimitError)
      return { faults: [{ offset: error.offset, message: error.message }] };
    return { faults: [{ offset: 0, message: "this cannot be read as YAML" }] };
  }
}

class YamlLimitError extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

/** What each alias stands for. The parser's own `resolve` searches the document for each alias. */
function aliasTargets(document: Document.Parsed, { visit, isAlias }: Library): ReadonlyMap<Alias, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<Alias, unknown>();
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) targets.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

class Converter {
  readonly faults: Fault[] = [];
  #nodes = 0;
  readonly #targets: ReadonlyMap<Alias, unknown>;
  readonly #yaml: Library;

  constructor(document: Document.Parsed, yaml: Library) {
    this.#targets = aliasTargets(document, yaml);
    this.#yaml = yaml;
  }

  convert(node: ParsedNode | null, depth: number): Tree {
    const offset = node?.range[0] ?? 0;
    this.#nodes += 1;
    if (this.#nodes > MAX_VALUES)
      throw new YamlLimitError(offset, "too many values; do its aliases multiply?");
    // An alias of what it stands in ends here, too.
    if (depth > MAX_DEPTH) throw new YamlLimitError(offset, `nested more than ${MAX_DEPTH} levels deep`);
    if (this.#yaml.isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) {
        this.faults.push({ offset, message: "this alias names no anchor before it" });
        return { kind: "scalar", offset, value: null };
      }
      return this.convert(target as ParsedNode, depth + 1);
    }
    if (this.#yaml.isMap(node)) return this.#object(node, depth);
    if (this.#yaml.isSeq(node)) {
      return {
        kind: "array",
        offset,
        items: node.items.map((item) => this.convert(item as ParsedNode | null, depth + 1)),
      };
    }
    return {
      kind: "scalar",
      offset,
      value: this.#yaml.isScalar(node) ? this.#scalar(node.value, offset) : null,
    };
  }

  #object(map: YAMLMap.Parsed, depth: number): ObjectTree {
    const own = new Map<string, Member>();
    const merged: ObjectTree[] = [];
    for (const { key, value } of map.items) {
      const keyOffset = key.range[0];
      if (!this.#yaml.isScalar(key)) {
        this.faults.push({ offset: keyOffset, message: "keys must be text" });
        continue;
      }
      const name = String(key.source ?? key.value);
      const tree = this.convert(value, depth + 1);
      if (name === "<<" && key.type === "PLAIN") merged.push(...this.#mergeSources(tree));
      else if (own.has(name))
        this.faults.push({ offset: keyOffset, message: `duplicate key ${JSON.stringify(name)}` });
      else own.set(name, { keyOffset, value: tree });
    }
    for (const { members } of merged) {
      for (const [name, member] of members) if (!own.has(name)) own.set(name, member);
    }
    return { kind: "object", offset: map.range[0], members: own };
  }

  #mergeSources(tree: Tree): readonly ObjectTree[] {
    const sources = tree.kind === "array" ? tree.items : [tree];
    const objects = sources.filter((source) => source.kind === "object");
    if (objects.length < sources.length) {
      this.faults.push({ offset: tree.offset, message: "only mappings can be merged with <<" });
    }
    return objects;
  }

  #scalar(value: unknown, offset: number): string | number | boolean | null {
    if (value === null || value === undefined) return null;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
    this.faults.push({ offset, message: "only text, numbers, true, false and null are supported" });
    return null;
  }
}
