/** How are secrets redacted in logs and output? By field name, by known value, and by format; in time linear in the text. */
import { ExactNumber } from "../wire/json.js";
import { isSecretField, isSecretName, redactFormats, redactNamed } from "./secrets.js";

const MARK = "[redacted]";

const MAX_DEPTH = 6;
const MAX_LIST_LENGTH = 100;

/** Longer texts (characters) are searched for known secrets and formats, not for names. */
const MAX_NAMED_LENGTH = 64 * 1024;

/** Replaces secrets by `[redacted]`. */
export class Redactor {
  readonly #known = new KnownSecrets();
  /** The same without white space, for texts in which they are broken. */
  readonly #unbroken = new KnownSecrets();

  /** Adds secret values, such as those of the config, in all encodings in which they may be echoed. */
  add(values: Iterable<string>): void {
    for (const value of values) {
      this.#known.add(value);
      const unbroken = value.replace(BREAKS, "");
      if (unbroken.length >= MIN_BROKEN_LENGTH) this.#unbroken.add(unbroken);
    }
  }

  /** Redacts a text: known secrets first, then formats. Truncate texts only after this. */
  text(text: string): string {
    const known = this.#known.replace(this.#withoutBroken(text), MARK);
    const unnamed = known.length > MAX_NAMED_LENGTH ? known : redactNamed(known, MARK, isSecretValue);
    return redactFormats(unnamed, MARK);
  }

  /** Redacts known secrets that line breaks, spaces or their escapes divide. */
  #withoutBroken(text: string): string {
    if (this.#unbroken.isEmpty || text.length > MAX_NAMED_LENGTH || !BREAK.test(text)) return text;
    const pieces: Piece[] = [];
    let start = 0;
    for (const { 0: gap, index } of text.matchAll(BREAKS)) {
      if (index > start) pieces.push({ start, end: index });
      start = index + gap.length;
    }
    if (start < text.length) pieces.push({ start, end: text.length });
    const joined = pieces.map(({ start, end }) => text.slice(start, end)).join("");
    const spans = this.#unbroken.find(joined).map(({ start, end }) => ({
      start: placeOf(pieces, start),
      end: placeOf(pieces, end - 1) + 1,
    }));
    let rest = 0;
    const kept = spans.map(({ start, end }) => {
      const before = text.slice(rest, start);
      rest = end;
      return before;
    });
    return kept.length === 0 ? text : [...kept, text.slice(rest)].join(MARK);
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
  !VARIABLE.test(value) &&
  isSecretName(name.replace(/^--?/, "")) &&
  (quoted || !/^(?:[A-Za-z']+|\d{1,5}|needs_sign_in)[.!?]?$/.test(value));

/** What a config has instead of a secret, and hints show: `${TOKEN}`, `Bearer ${env:TOKEN}`. */
const VARIABLE = /^(?:[A-Za-z]{1,20} )?\$\{(?:env:)?[A-Za-z_]\w*\}$/;

/** Shorter values are not redacted: "8080" or "true" occur everywhere in logs. */
const MIN_SECRET_LENGTH = 6;
/** The minimum length (characters) of a truncated secret that is redacted. */
const MIN_PIECE_LENGTH = 8;
/** A prefix of this length (characters) is redacted whatever follows it. */
const SURE_PIECE_LENGTH = 12;
/** Marks of truncation. */
const ELLIPSIS = /…|\.\.\.|\[cut\]/g;

/** Shorter secrets are not searched for across breaks: their letters may be those of two words. */
const MIN_BROKEN_LENGTH = 12;
/** White space, and its escapes in JSON and in URLs. */
const BREAKS = /(?:\s|\\{1,4}[nrt](?![a-z]{3})|\\{1,4}u000[aAdD9]|%0[AaDd9]|%20)+/g;
const BREAK = /\s|\\|%0|%20/;

/** A part of a text. */
interface Piece {
  readonly start: number;
  readonly end: number;
}

/** Where the character at `index` of the joined pieces is. */
function placeOf(pieces: readonly Piece[], index: number): number {
  let left = index;
  for (const { start, end } of pieces) {
    if (left < end - start) return start + left;
    left -= end - start;
  }
  return pieces.at(-1)?.end ?? 0;
}

/** A set of secrets, and a search for all of them at once. */
class KnownSecrets {
  /** By their first characters, the longest first, so that a secret that contains another is redacted whole. */
  readonly #byStart = new Map<string, string[]>();
  readonly #known = new Set<string>();
  /** A filter by the first two characters, which skips most positions. */
  readonly #starts = new Uint8Array(HASH_SIZE);
  /** All secrets joined, to find pieces without their beginning. */
  #joined = "";

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Adds a value in all encodings in which it may be echoed. */
  add(value: string): void {
    for (const form of encodingsOf(value)) if (form.length >= MIN_SECRET_LENGTH) this.#addForm(form);
  }

  #addForm(form: string): void {
    if (this.#known.has(form)) return;
    this.#known.add(form);
    this.#joined += `\0${form}`;
    this.#starts[startHash(form, 0)] = 1;
    const start = form.slice(0, MIN_SECRET_LENGTH);
    const alike = this.#byStart.get(start) ?? [];
    alike.push(form);
    alike.sort((a, b) => b.length - a.length);
    this.#byStart.set(start, alike);
  }

  /** The text with each secret replaced by `mark`. */
  replace(text: string, mark: string): string {
    if (this.isEmpty || text.length < MIN_SECRET_LENGTH) return text;
    const parts: string[] = [];
    let kept = 0;
    const take = (from: number, to: number): void => {
      parts.push(text.slice(kept, from), mark);
      kept = to;
    };
    const cuts = [0, ...[...text.matchAll(ELLIPSIS)].map(({ index, 0: { length } }) => index + length)];
    let nextCut = 0;
    for (let at = 0; at + MIN_SECRET_LENGTH <= text.length; ) {
      let end: number | undefined;
      if (at === cuts[nextCut]) {
        nextCut += 1;
        end = this.#pieceAt(text, at);
      }
      if (this.#starts[startHash(text, at)] === 1) end ??= this.#secretAt(text, at);
      if (end === undefined) at += 1;
      else {
        take(at, end);
        at = end;
        while ((cuts[nextCut] ?? Number.POSITIVE_INFINITY) < at) nextCut += 1;
      }
    }
    if (parts.length === 0) return text;
    parts.push(text.slice(kept));
    return parts.join("");
  }

  /** Where whole secrets are in `text`. */
  find(text: string): readonly Piece[] {
    const found: Piece[] = [];
    for (let at = 0; at + MIN_SECRET_LENGTH <= text.length; at++) {
      if (this.#starts[startHash(text, at)] !== 1) continue;
      const alike = this.#byStart.get(text.slice(at, at + MIN_SECRET_LENGTH));
      const whole = alike?.find(
        (secret) => secret.length >= MIN_BROKEN_LENGTH && text.startsWith(secret, at),
      );
      if (whole === undefined) continue;
      found.push({ start: at, end: at + whole.length });
      at += whole.length - 1;
    }
    return found;
  }

  /** The end of the secret that begins at `at`, whole or truncated; undefined where none does. */
  #secretAt(text: string, at: number): number | undefined {
    const alike = this.#byStart.get(text.slice(at, at + MIN_SECRET_LENGTH));
    if (alike === undefined) return undefined;
    const whole = alike.find((secret) => text.startsWith(secret, at));
    if (whole !== undefined) return at + whole.length;
    for (const secret of alike) {
      const same = commonPrefixLength(text, at, secret);
      const end = at + same;
      if (same >= SURE_PIECE_LENGTH) return end;
      if (
        same >= MIN_PIECE_LENGTH &&
        (end === text.length || /^(?:…|\.\.\.|\[cut\])/.test(text.slice(end, end + 5)))
      ) {
        return end;
      }
    }
    return undefined;
  }

  /** The end of a secret whose beginning was cut off before `at`; undefined where there is none. */
  #pieceAt(text: string, at: number): number | undefined {
    const piece = text.slice(at, at + MIN_PIECE_LENGTH);
    if (piece.length < MIN_PIECE_LENGTH || piece.includes("\0")) return undefined;
    let longest = 0;
    for (
      let found = this.#joined.indexOf(piece);
      found !== -1;
      found = this.#joined.indexOf(piece, found + 1)
    ) {
      const end = this.#joined.indexOf("\0", found);
      const rest = this.#joined.slice(found, end === -1 ? undefined : end);
      if (text.startsWith(rest, at)) longest = Math.max(longest, rest.length);
    }
    return longest === 0 ? undefined : at + longest;
  }
}

const HASH_SIZE = 65_536;
const startHash = (text: string, at: number): number =>
  (text.charCodeAt(at) * 251 + text.charCodeAt(at + 1)) % HASH_SIZE;

/** The length of the common prefix of `secret` and the text at `at`. */
function commonPrefixLength(text: string, at: number, secret: string): number {
  let length = 0;
  while (length < secret.length && text.charCodeAt(at + length) === secret.charCodeAt(length)) length += 1;
  return length;
}

/** The encodings of a value in programs, URLs, JSON, JSON in JSON, headers and log lines. */
function encodingsOf(value: string): ReadonlySet<string> {
  const forms = new Set<string>();
  const lines = value.split(/\r?\n/).filter((line) => line.length >= MIN_PIECE_LENGTH);
  const collapsed = value.replace(/\s+/g, " ").trim();
  for (const plain of [
    value,
    value.trim(),
    collapsed,
    ...(lines.length > 1 ? lines.map((line) => line.trim()) : []),
  ]) {
    forms.add(plain);
    const once = inJson(plain);
    forms.add(once).add(inJson(once));
    forms.add(percentEncoded(plain)).add(percentEncoded(plain).toLowerCase());
    forms.add(percentEncoded(plain).replaceAll("%20", "+"));
    if (plain.length >= MIN_PIECE_LENGTH) for (const form of base64Forms(plain)) forms.add(form);
  }
  return forms;
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
const percentEncoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The part of its Base64 that does not depend on surrounding text, at each alignment, in both alphabets. */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    // The first and last characters depend on the neighbouring bytes.
    const from = offset === 0 ? 0 : offset + 1;
    const to = Math.floor((padded.length * 8) / 6);
    return [padded.toString("base64").slice(from, to), padded.toString("base64url").slice(from, to)];
  });
}
