/** Takes secrets out of what is about to be shown: by the name of the field, by known value, and by looks. */
import { ExactNumber } from "../wire/exact-number.js";

const MARK = "[redacted]";

/** Shorter values are left alone: a redactor that knows "8080" or "true" would make every log unreadable. */
const SHORTEST_SECRET = 6;
const DEEPEST = 6;
const LONGEST_LIST = 100;

/** Field names whose values are secret whatever they are. */
const SECRET_KEY =
  /authorization|cookie|passw(?:or)?d|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|(?:^|[-_])token$|(?:access|refresh|id|auth|bearer)[-_]?token|credential/i;

/** Values that look like secrets wherever they stand. Each alternative is linear: no nested repeats. */
const SECRET_LOOKS =
  /\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\b(?:sk|pk|rk)[-_][\w-]{16,}|\bcardea_[\w-]{43}(?![\w-])|\bgh[opusr]_\w{20,}|\bgithub_pat_\w{20,}|\bxox[abeprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|(?<=:\/\/)[^\s/@:]+:[^\s/@]+(?=@)/g;

/** Whether whatever stands under this name is secret: a field, a header, a variable, a flag. */
export const isSecretName = (name: string): boolean => SECRET_KEY.test(name);

export class Redactor {
  readonly #values = new Set<string>();
  #pattern: RegExp | undefined;

  /** Remembers secret values, such as those that the config's variables were expanded to. */
  add(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length < SHORTEST_SECRET) continue;
      this.#values.add(value);
      // The same secret as it stands in a URL.
      this.#values.add(encodeURIComponent(value));
    }
    // Longest first: a secret that contains another must go as a whole.
    const alternatives = [...this.#values].sort((a, b) => b.length - a.length).map(escapePattern);
    this.#pattern = alternatives.length === 0 ? undefined : new RegExp(alternatives.join("|"), "g");
  }

  /** The text without secrets. */
  text(text: string): string {
    const known = this.#pattern === undefined ? text : text.replace(this.#pattern, MARK);
    return known.replace(SECRET_LOOKS, MARK);
  }

  /** A copy of the fields without secrets; errors become plain objects, what is too deep becomes a word. */
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
    if (depth >= DEEPEST) return "[deep]";
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
      return items.slice(0, LONGEST_LIST).map((item) => this.#value(item, depth + 1, path));
    }
    return this.#object(value, depth, path);
  }

  #object(value: object, depth: number, path: Set<object>): Record<string, unknown> {
    const copy: [string, unknown][] = [];
    for (const [key, inner] of Object.entries(value)) {
      const secret = isSecretName(key) && inner !== undefined && typeof inner !== "boolean";
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

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
