/** How are secrets redacted in logs and output? By field name, by known value, and by format. */
import { ExactNumber } from "../wire/json.js";

import { KnownSecrets } from "./known-secrets.js";
import { redactFormats, redactNamed } from "./secret-formats.js";
import { isSecretField, isSecretName } from "./secret-names.js";

const MARK = "[redacted]";

const MAX_DEPTH = 6;
const MAX_LIST_LENGTH = 100;

/** Longer texts (characters) are searched for known secrets and formats, not for names. */
const MAX_NAMED_LENGTH = 64 * 1024;

/** Replaces secrets by `[redacted]`. */
export class Redactor {
  readonly #known = new KnownSecrets();

  /** Adds secret values, such as those of the config, in all encodings in which they may be echoed. */
  add(values: Iterable<string>): void {
    for (const value of values) this.#known.add(value);
  }

  /** Redacts a text: known secrets first, then formats. Truncate texts only after this. */
  text(text: string): string {
    const known = this.#known.replace(text, MARK);
    const unnamed = known.length > MAX_NAMED_LENGTH ? known : redactNamed(known, MARK, isSecretValue);
    return redactFormats(unnamed, MARK);
  }

  /** A redacted copy of the fields; errors become plain objects, deeply nested values become `[deep]`. */
  fields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return this.#object(fields, 0, new Set());
  }

  #value(value: unknown, depth: number, path: Set<object>): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value === "bigint" || typeof value === "symbol") return String(value);
    if (typeof value === "function") return "[function]";
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof ExactNumber) return this.text(value.source);
    if (path.has(value)) return "[circular]";
    if (depth >= MAX_DEPTH) return "[deep]";
    path.add(value);
    const copy = this.#copy(value, depth, path);
    path.delete(value);
    return copy;
  }

  #copy(value: object, depth: number, path: Set<object>): unknown {
    if (value instanceof Error) return this.#error(value, depth, path);
    if (value instanceof Date) return value;
    if (value instanceof URL) return this.text(value.href);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Map) return this.#object(Object.fromEntries(value), depth, path);
    if (Array.isArray(value) || value instanceof Set) {
      const items: readonly unknown[] = [...value];
      return items.slice(0, MAX_LIST_LENGTH).map((item) => this.#value(item, depth + 1, path));
    }
    return this.#object(value, depth, path);
  }

  #object(value: object, depth: number, path: Set<object>): Record<string, unknown> {
    const copy: [string, unknown][] = [];
    for (const [key, inner] of Object.entries(value)) {
      const secret = isSecretField(key) && inner !== undefined && typeof inner !== "boolean";
      copy.push([key, secret ? MARK : this.#value(inner, depth + 1, path)]);
    }
    return Object.fromEntries(copy);
  }

  #error(error: Error, depth: number, path: Set<object>): Record<string, unknown> {
    const { code } = error as { readonly code?: unknown };
    return {
      name: error.name,
      message: this.text(error.message),
      ...((typeof code === "string" || typeof code === "number") && { code }),
      ...(error.stack !== undefined && { stack: this.text(error.stack) }),
      ...(error.cause !== undefined && { cause: this.#value(error.cause, depth + 1, path) }),
    };
  }
}

/** `token: expired` in a sentence is not secret; `token=ab12…` and `"token":"…"` are. */
const isSecretValue = (name: string, value: string, quoted: boolean): boolean =>
  value.length >= (quoted ? 1 : 4) &&
  value !== MARK &&
  isSecretName(name.replace(/^--?/, "")) &&
  (quoted || !/^(?:[A-Za-z']+|\d{1,5}|Bearer|Basic)[.!?]?$/.test(value));
