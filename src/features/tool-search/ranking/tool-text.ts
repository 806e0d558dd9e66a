/** The searched texts of a tool, and their weights. */
import { isObject, type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import { MAX_TEXT_LENGTH, type Stems, stemOf, termsOf, wordsOf } from "./terms.js";

/** The server of a tool; the tools of a server share one object. */
export interface SearchableServer {
  /** The name in the config. */
  readonly name: string;
  readonly title?: string;
  readonly instructions?: string;
}

/** A tool of a list, as the client sees it. */
export interface SearchableTool {
  /** The exposed name. */
  readonly name: string;
  readonly server: SearchableServer;
  /** The list entry: title, description and schema as exposed. */
  readonly tool: JsonObject;
}

/** A text field of a tool. */
interface Field {
  /** The weight of a term in it. */
  readonly weight: number;
  /** The length in terms above which each counts less. A constant: ranks do not depend on the texts of other tools. */
  readonly length: number;
  /** Length normalisation, from 0 (none) to 1. */
  readonly b: number;
}

/** The fields in the order of `fieldTerms`. */
export const FIELDS = [
  /* name */ { weight: 3, length: 4, b: 0.4 },
  /* server */ { weight: 1.5, length: 3, b: 0.4 },
  /* title and description */ { weight: 1, length: 25, b: 0.4 },
  /* parameter names */ { weight: 0.6, length: 8, b: 0.4 },
  /* instructions of the server */ { weight: 0.3, length: 30, b: 0.4 },
  /* parameter descriptions */ { weight: 0.3, length: 40, b: 0.4 },
] as const satisfies readonly Field[];

/** Searched characters of a server's instructions: they begin with its subject. */
const MAX_INSTRUCTIONS = 500;
/** Maximum number and depth of nested schemas. */
const MAX_SCHEMAS = 200;
const MAX_DEPTH = 6;

/** The terms of each of FIELDS, including repetitions. */
export function fieldTerms(
  { name, server, tool }: SearchableTool,
  stems: Stems,
): readonly (readonly string[])[] {
  const parameters = new ParameterTexts();
  parameters.add(objectAt(tool, "inputSchema"), 0);
  const title = stringAt(tool, "title") ?? stringAt(objectAt(tool, "annotations"), "title") ?? "";
  return [
    nameTerms(name, server.name, stems),
    termsOf(`${server.name} ${server.title ?? ""}`, stems),
    [...termsOf(title, stems), ...termsOf(stringAt(tool, "description") ?? "", stems)],
    termsOf(parameters.names, stems),
    termsOf((server.instructions ?? "").slice(0, MAX_INSTRUCTIONS), stems),
    termsOf(parameters.descriptions, stems),
  ];
}

/** The words of a name without those of its server's prefix. */
function nameTerms(name: string, server: string, stems: Stems): readonly string[] {
  const words = wordsOf(name);
  const prefix = wordsOf(server);
  const isPrefixed = prefix.length < words.length && prefix.every((word, at) => words[at] === word);
  return (isPrefixed ? words.slice(prefix.length) : words).map((word) => stemOf(word, stems));
}

/** The names and descriptions of all parameters, including nested ones, within the limits. */
class ParameterTexts {
  names = "";
  descriptions = "";
  #schemas = 0;

  add(schema: unknown, depth: number): void {
    if (!isObject(schema) || depth > MAX_DEPTH) return;
    this.#schemas += 1;
    if (this.#schemas > MAX_SCHEMAS) return;
    if (depth > 0) this.#describe(stringAt(schema, "description"));
    const properties = objectAt(schema, "properties");
    for (const key in properties) {
      if (this.names.length > MAX_TEXT_LENGTH || this.#schemas > MAX_SCHEMAS) return;
      this.names += ` ${key.slice(0, MAX_TEXT_LENGTH)}`;
      this.add(properties[key], depth + 1);
    }
    this.add(schema.items, depth + 1);
    for (const word of ["anyOf", "oneOf", "allOf"]) {
      const list = schema[word];
      if (!Array.isArray(list)) continue;
      for (const one of list.slice(0, MAX_SCHEMAS)) this.add(one, depth + 1);
    }
  }

  #describe(text: string | undefined): void {
    if (text === undefined || this.descriptions.length > MAX_TEXT_LENGTH) return;
    this.descriptions += ` ${text.slice(0, MAX_TEXT_LENGTH)}`;
  }
}
