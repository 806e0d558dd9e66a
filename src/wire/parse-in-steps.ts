/** How is a long JSON text parsed while other calls are served? In steps, with a yield after each. */
import { endOfString, NestedTooDeep } from "./json-scan.js";
import { parseJson } from "./json-text.js";

/** Characters per step: about 0.5 ms. */
const STEP_CHARS = 65_536;

/**
 * Returns the value of `parseJson(text)`, and yields after each step. JSON.parse parses runs of elements of up to
 * `stepChars`; only a longer element is entered.
 *
 * @param maxDepth the deepest nesting of objects and arrays
 * @param stepChars characters parsed in one step
 * @throws SyntaxError if `text` is not valid JSON; NestedTooDeep
 */
export function parseInSteps(
  text: string,
  maxDepth: number,
  stepChars: number = STEP_CHARS,
): Generator<void, unknown, void> {
  return new StepParser(text, maxDepth, stepChars).parse();
}

/** From this number of members on an object is wide: to enumerate 300,000 takes 75 ms, as V8 sorts them. */
const WIDE_MEMBERS = 16_384;

/** Module-wide on purpose: which of the objects that are in use are wide. */
const wideObjects = new WeakSet<object>();

/**
 * Whether an object of a long text has more members than one turn of the event loop can enumerate. False
 * for an object that was not parsed by `parseInSteps`, whose text is short.
 */
export const isWide = (object: object): boolean => wideObjects.has(object);

/** An unfinished object or array. */
interface Container {
  readonly isObject: boolean;
  /** The key of this container in the object around it. */
  readonly key: string | undefined;
  readonly value: Record<string, unknown> | unknown[];
  /** Of an object, in its runs so far. */
  members: number;
}

class StepParser {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #stepChars: number;
  /** The containers around `#at`, outermost first. The first is an array whose only element is the document. */
  readonly #open: Container[] = [{ isObject: false, key: undefined, value: [], members: 0 }];
  #at = 0;
  /** Whether a comma precedes `#at`, so that an element must follow. */
  #afterComma = false;

  constructor(text: string, maxDepth: number, stepChars: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#stepChars = stepChars;
  }

  *parse(): Generator<void, unknown, void> {
    for (;;) {
      const container = this.#open.at(-1) as Container;
      this.#skipSpace();
      const end = this.#endOfRun();
      if (end === undefined) yield* this.#longElement(container);
      else this.#run(container, end);
      while (this.#isAtEnd()) {
        const { key, value } = this.#open.pop() as Container;
        const outer = this.#open.at(-1);
        if (outer === undefined) return onlyElement(value);
        this.#at++;
        add(outer, key, value);
        this.#separator();
      }
      yield;
    }
  }

  /**
   * The end of the elements that are parsed in this step: the end of the innermost container, or the last comma within
   * `stepChars`. Undefined when the next element is longer than that.
   */
  #endOfRun(): number | undefined {
    const text = this.#text;
    const limit = this.#at + this.#stepChars;
    const outside = this.#open.length - 1;
    let comma: number | undefined;
    let depth = 0;
    for (let at = this.#at; at < text.length; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          at = endOfString(text, at);
          if (at === -1) throw invalid();
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          depth++;
          this.#checkDepth(outside + depth);
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          if (depth === 0) return at;
          depth--;
          break;
        case COMMA:
          if (depth === 0) comma = at;
          break;
      }
      if (at >= limit) return comma;
    }
    if (depth > 0) throw invalid();
    return text.length;
  }

  /** Parses the elements up to `end`, where a comma stands or the container ends. */
  #run(container: Container, end: number): void {
    if (end === this.#at) {
      if (!this.#isAtEnd()) throw invalid();
      return;
    }
    addAll(container, this.#text.slice(this.#at, end));
    this.#at = end;
    this.#separator();
  }

  /** Parses an element longer than a step. A container is only entered. */
  *#longElement(container: Container): Generator<void, void, void> {
    const key = container.isObject ? this.#key() : undefined;
    const isObject = this.#isAt(OPEN_OBJECT);
    if (isObject || this.#isAt(OPEN_ARRAY)) {
      this.#checkDepth(this.#open.length);
      this.#open.push({ isObject, key, value: isObject ? {} : [], members: 0 });
      this.#at++;
      this.#afterComma = false;
      return;
    }
    add(container, key, this.#isAt(QUOTE) ? yield* this.#longString() : this.#token());
    this.#separator();
  }

  #key(): string {
    const key: unknown = parseJson(this.#text.slice(this.#at, this.#endOfString()));
    this.#at = this.#endOfString();
    this.#skipSpace();
    if (!this.#isAt(COLON)) throw invalid();
    this.#at++;
    this.#skipSpace();
    return key as string;
  }

  *#longString(): Generator<void, string, void> {
    const text = this.#text;
    const end = this.#endOfString() - 1;
    const begin = this.#at + 1;
    const pieces: string[] = [];
    let isAsWritten = true;
    for (let start = begin; start < end; ) {
      const cut = Math.min(endBeforeEscape(text, start + Math.max(this.#stepChars, MAX_ESCAPE_LENGTH)), end);
      const piece = text.slice(start, cut);
      const needsParser = piece.includes("\\") || CONTROL.test(piece);
      pieces.push(needsParser ? (parseJson(`"${piece}"`) as string) : piece);
      isAsWritten &&= !needsParser;
      start = cut;
      yield;
    }
    this.#at = end + 1;
    return isAsWritten ? text.slice(begin, end) : pieces.join("");
  }

  /** Parses a number, or a word such as `true`. */
  #token(): unknown {
    const start = this.#at;
    while (this.#at < this.#text.length && !TOKEN_TERMINATORS.has(this.#text.charCodeAt(this.#at)))
      this.#at++;
    return parseJson(this.#text.slice(start, this.#at));
  }

  /** Behind the quote that ends the string that begins here. */
  #endOfString(): number {
    const close = this.#isAt(QUOTE) ? endOfString(this.#text, this.#at) : -1;
    if (close === -1) throw invalid();
    return close + 1;
  }

  /** Goes past the comma behind an element; without one the container must end. */
  #separator(): void {
    this.#skipSpace();
    this.#afterComma = this.#isAt(COMMA);
    if (this.#afterComma) this.#at++;
    else if (!this.#isAtEnd()) throw invalid();
  }

  /** Whether the innermost container ends here. */
  #isAtEnd(): boolean {
    if (this.#afterComma) return false;
    if (this.#open.length === 1) return this.#at === this.#text.length;
    return this.#isAt(this.#open.at(-1)?.isObject === true ? CLOSE_OBJECT : CLOSE_ARRAY);
  }

  #isAt(code: number): boolean {
    return this.#text.charCodeAt(this.#at) === code;
  }

  #skipSpace(): void {
    while (SPACES.has(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #checkDepth(depth: number): void {
    if (depth > this.#maxDepth) throw new NestedTooDeep(this.#maxDepth);
  }
}

/** Adds the elements that `run` is the text of. */
function addAll(container: Container, run: string): void {
  if (container.isObject) {
    const members = parseJson(`{${run}}`) as Record<string, unknown>;
    const keys = Object.keys(members);
    for (const key of keys) add(container, key, members[key]);
    container.members += keys.length;
    if (container.members > WIDE_MEMBERS) wideObjects.add(container.value);
  } else {
    for (const element of parseJson(`[${run}]`) as unknown[]) add(container, undefined, element);
  }
}

function add({ value: container }: Container, key: string | undefined, value: unknown): void {
  if (Array.isArray(container)) container.push(value);
  // Assigning to `__proto__` would set the prototype.
  else if (key === "__proto__")
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  else container[key as string] = value;
}

/** The only element of the array around the document. */
function onlyElement(elements: Container["value"]): unknown {
  if (!Array.isArray(elements) || elements.length !== 1) throw invalid();
  return elements[0];
}

/** `at`, or the start of the escape that `at` would cut. */
function endBeforeEscape(text: string, at: number): number {
  for (let backslash = at - 1; backslash >= at - MAX_ESCAPE_LENGTH; backslash--) {
    if (text.charCodeAt(backslash) !== BACKSLASH) continue;
    let first = backslash;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    // Two backslashes are an escape of their own.
    const begins = (backslash - first) % 2 === 0;
    const length = text.charCodeAt(backslash + 1) === SMALL_U ? MAX_ESCAPE_LENGTH : 2;
    return begins && backslash + length > at ? backslash : at;
  }
  return at;
}

const invalid = (): SyntaxError => new SyntaxError("not valid JSON");

/** What must be written as an escape. Of a text without any, the parser would make a copy, in ten times the time. */
const CONTROL = new RegExp(`[${String.fromCodePoint(0)}-${String.fromCodePoint(0x1f)}]`);

/** The length of a Unicode escape, such as \u00e9. */
const MAX_ESCAPE_LENGTH = 6;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const SMALL_U = 117;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
/** Tab, line feed, carriage return and space (RFC 8259, section 2). */
const SPACES: ReadonlySet<number> = new Set([9, 10, 13, 32]);
const TOKEN_TERMINATORS: ReadonlySet<number> = new Set([COMMA, CLOSE_ARRAY, CLOSE_OBJECT]);
