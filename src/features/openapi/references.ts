/** What does a `$ref` inside one OpenAPI document lead to? */
import { isObject, type JsonObject } from "../../wire/json.js";

/** The longest chain of references to references. */
const MAX_CHAIN = 50;

/** Resolves references of the form `#/components/…` in one document. */
export class References {
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** The value at a reference; undefined where there is none. */
  at(ref: string): unknown {
    if (ref === "#") return this.#root;
    if (!ref.startsWith("#/")) return undefined;
    let value: unknown = this.#root;
    for (const part of ref.slice(2).split("/")) {
      if (typeof value !== "object" || value === null) return undefined;
      const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
      value = Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
    }
    return value;
  }

  /** `value`, or what it refers to, over references to references; undefined where that is no object. */
  resolved(value: unknown): JsonObject | undefined {
    let found = value;
    for (let step = 0; step < MAX_CHAIN; step++) {
      if (!isObject(found)) return undefined;
      if (typeof found.$ref !== "string") return found;
      found = this.at(found.$ref);
    }
    return undefined;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
