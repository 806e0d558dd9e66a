/**
 * Which members of a JSON text set prototypes where JavaScript copies them? `Object.assign` and deep merges take `__proto__`
 * for the prototype of their target, and `constructor.prototype` for that of all its objects: the members of its value
 * appear where no rule has seen them.
 */
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
} from "./json-scan.js";
import { parseJson } from "./json-text.js";

/** A member with such a name. */
export interface PrototypeMember {
  /** The index of the message in a batch; 0 for a single message. */
  readonly message: number;
  /** The names and indices that lead to it inside the message; the last is its own name. */
  readonly path: readonly (string | number)[];
}

/** Whether it is inside an entry of a list in a result, as in those of `tools/list`. */
export const isInListEntry = ({ path }: PrototypeMember): boolean =>
  path[0] === "result" && typeof path[2] === "number";

/**
 * The first of each list entry, and the first of the rest of each message. `text` must be valid JSON. Most texts are only
 * searched for two short strings.
 */
export function prototypeMembers(text: string): readonly PrototypeMember[] {
  if (!mayHavePrototypeMember(text)) return NONE;
  const steps = new MemberScan(text).inSteps();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same in steps, for a long text. */
export function* prototypeMembersInSteps(text: string): Generator<void, readonly PrototypeMember[], void> {
  for (let at = 0; at < text.length; at += SEARCHED_CHARS) {
    if (mayHavePiece(text.slice(at, at + SEARCHED_CHARS + MAX_NAME_LENGTH))) {
      return yield* new MemberScan(text).inSteps();
    }
    yield;
  }
  return NONE;
}

/** The path of a member as a sentence names it. */
export function memberPath({ path }: PrototypeMember): string {
  const whole = path.join(".");
  return whole.length <= MAX_QUOTED_LENGTH ? whole : `…${whole.slice(-MAX_QUOTED_LENGTH)}`;
}

const NONE: readonly PrototypeMember[] = [];
const MAX_QUOTED_LENGTH = 200;
/** Characters that one step searches or scans: below 1 ms. */
const SEARCHED_CHARS = 262_144;
const SCANNED_CHARS = 65_536;

/** False is certain. The name may be spelled with escapes; other escapes are more frequent. */
const mayHavePrototypeMember = (text: string): boolean =>
  (text.includes("proto") && (text.includes("__proto__") || text.includes("constructor"))) ||
  (text.includes("\\u00") && ESCAPED_LETTER.test(text));

/** The same for a piece of a text, where the rest may have the other name. */
const mayHavePiece = (piece: string): boolean =>
  piece.includes("proto") || (piece.includes("\\u00") && ESCAPED_LETTER.test(piece));

/** An escape of one of the characters of the names. */
const ESCAPED_LETTER = /\\u00(?:5[fF]|6[35eEfF]|7[02-59])/;
/** Of `constructor`, if each character is an escape. */
const MAX_NAME_LENGTH = 66;
const MIN_NAME_LENGTH = 9;

/** One pass over a text. */
class MemberScan {
  readonly #text: string;
  readonly #found: PrototypeMember[] = [];
  /** For each open container the name of the present member, or the index of the present element. */
  readonly #path: (string | number)[] = [];
  /** For each open container whether it is the value of a member `constructor`. */
  readonly #inConstructor: boolean[] = [];
  /** Whether the next value is that of a member `constructor`. */
  #afterConstructor = false;

  constructor(text: string) {
    this.#text = text;
  }

  *inSteps(): Generator<void, readonly PrototypeMember[], void> {
    const text = this.#text;
    let next = SCANNED_CHARS;
    for (let at = 0; at < text.length; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          at = this.#string(at);
          break;
        case OPEN_OBJECT:
          this.#open("");
          break;
        case OPEN_ARRAY:
          this.#open(0);
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#path.pop();
          this.#inConstructor.pop();
          break;
        case COMMA:
          this.#comma();
          break;
      }
      if (at < next) continue;
      next = at + SCANNED_CHARS;
      yield;
    }
    return this.#found;
  }

  #open(first: string | number): void {
    this.#path.push(first);
    this.#inConstructor.push(this.#afterConstructor && first === "");
    this.#afterConstructor = false;
  }

  #comma(): void {
    this.#afterConstructor = false;
    const last = this.#path.length - 1;
    const index = this.#path[last];
    if (typeof index === "number") this.#path[last] = index + 1;
  }

  /** Reads the string that begins at `start`; returns where it ends, or the colon if it is a name. */
  #string(start: number): number {
    const text = this.#text;
    const end = endOfString(text, start);
    if (end === -1) return text.length;
    const after = skipSpace(text, end + 1);
    if (text.charCodeAt(after) !== COLON) return end;
    const name = nameIn(text, start, end);
    const last = this.#path.length - 1;
    this.#path[last] = name;
    this.#afterConstructor = name === "constructor";
    if (name === "__proto__" || (name === "prototype" && this.#inConstructor[last] === true)) this.#add();
    return after;
  }

  #add(): void {
    const [message, ...inside] = typeof this.#path[0] === "number" ? this.#path : [0, ...this.#path];
    const member = { message: Number(message), path: inside };
    const previous = this.#found.at(-1);
    if (previous === undefined || !isOfSamePart(member, previous)) this.#found.push(member);
  }
}

/** Whether both are in the same list entry, or both in no list entry of the same message. */
function isOfSamePart(one: PrototypeMember, other: PrototypeMember): boolean {
  if (one.message !== other.message || isInListEntry(one) !== isInListEntry(other)) return false;
  return !isInListEntry(one) || (one.path[1] === other.path[1] && one.path[2] === other.path[2]);
}

/** The name from its opening to its closing quote, decoded where it may matter. */
function nameIn(text: string, start: number, end: number): string {
  const length = end - start - 1;
  const name = text.slice(start + 1, end);
  return length < MIN_NAME_LENGTH || length > MAX_NAME_LENGTH || !name.includes("\\")
    ? name
    : (parseJson(text.slice(start, end + 1)) as string);
}
