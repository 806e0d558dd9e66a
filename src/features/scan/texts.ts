/** The texts of a definition that a model reads, and where they stand. */
import { isObject, type JsonObject } from "../../wire/json.js";

/** A text of a definition. */
export interface DefinitionText {
  readonly text: string;
  /** RFC 6901. */
  readonly pointer: string;
  /** `name`: of the item or of a member; `value`: a default or a choice; `text`: any other. */
  readonly use: "name" | "value" | "text";
  /** The member that has it, or the parameter whose value it is. */
  readonly of: string;
}

/** Deeper values are not read by models. */
const MAX_DEPTH = 64;
const VALUES: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "example"]);
/** Members without words: pictures, and what only programs read. */
const SKIPPED: ReadonlySet<string> = new Set(["icons", "$schema", "type", "format", "mimeType"]);

/** All texts of `item`, in the order of its members. */
export function* textsOf(item: JsonObject): Generator<DefinitionText> {
  yield* within(item, { pointer: "", of: "", isValue: false, isMap: false }, 0);
}

interface Spot {
  readonly pointer: string;
  readonly of: string;
  readonly isValue: boolean;
  /** Whether its members are named by the server: parameters. */
  readonly isMap: boolean;
}

function* within(value: unknown, spot: Spot, depth: number): Generator<DefinitionText> {
  const { pointer, of, isValue, isMap } = spot;
  if (typeof value === "string") {
    const use = isValue ? "value" : pointer === "/name" ? "name" : "text";
    yield { text: value, pointer, use, of };
    return;
  }
  if (depth >= MAX_DEPTH) return;
  if (Array.isArray(value)) {
    for (const [at, inner] of (value as readonly unknown[]).entries())
      yield* within(inner, { ...spot, pointer: `${pointer}/${at}` }, depth + 1);
  } else if (isObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      if (!isMap && SKIPPED.has(key)) continue;
      const below = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (isMap) yield { text: key, pointer: below, use: "name", of: key };
      const holdsMap = !isMap && (key === "properties" || key === "$defs" || key === "definitions");
      const isBelowValue = !isMap && (isValue || VALUES.has(key));
      yield* within(
        inner,
        { pointer: below, of: isMap ? key : of, isValue: isBelowValue, isMap: holdsMap },
        depth + 1,
      );
    }
  }
}
