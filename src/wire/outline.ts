/**
 * What do brackets, quotes and commas say of a long JSON text before it is parsed: where is the `result` of a response, and
 * which messages have more members than the gateway can handle in one turn of the event loop?
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
  type Span,
  skipSpace,
} from "./json-scan.js";

/**
 * The most members of a message, of its parameters, its result, its error, of `_meta` and content: the gateway reads and
 * copies these one by one. A text below 64 KiB cannot have more.
 */
const MAX_MEMBERS = 16_384;
/** The most members of any object of a message that is written as JSON again, which takes 25 ms then. */
const MAX_OBJECT_MEMBERS = 65_536;
/**
 * The most objects and lists of a text: a full collection of garbage takes 50 ms with a million more, and a text of 64 MiB
 * could have 32 million.
 */
export const MAX_CONTAINERS = 1_000_000;

/** What is known of a text. */
export interface Outline {
  readonly tooDeep: boolean;
  /** The object that is the only member `result` of the outermost object; see `scanResponse`. */
  readonly result: Span | undefined;
  /** The id of the outermost object, where it has no method. */
  readonly id: Span | undefined;
  /** Whether the text has more objects and lists than MAX_CONTAINERS. */
  readonly tooMany: boolean;
  /** Why messages are refused, by their index in a batch; 0 for a single message. */
  readonly refused: ReadonlyMap<number, string>;
}

/** Characters that one step scans: below 1 ms. */
const STEP_CHARS = 65_536;

/** Who sent a text, and with that how it is passed on. */
export type Sender = "host" | "server";

/**
 * One pass over a text in steps. It need not be valid JSON.
 *
 * @param sender results of servers are passed on as text, so only other messages of theirs have limits of values and members
 */
export function* outlineInSteps(
  text: string,
  maxDepth: number,
  sender: Sender,
): Generator<void, Outline, void> {
  return yield* new OutlineScan(text, maxDepth, sender).inSteps();
}

/** The most values in a message of a server that is no result. A text that is not read in steps cannot have more. */
const MAX_SERVER_VALUES = 65_536;

class OutlineScan {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #sender: Sender;
  readonly #refused = new Map<number, string>();
  /** The depth of the members of a message. */
  readonly #outer: number;
  #containers = 0;
  #depth = 0;
  #tooDeep = false;
  /** The index of the present message. */
  #message = 0;
  /** Commas since it began, and in the containers at three depths from its own on. */
  #values = 0;
  readonly #members = [0, 0, 0];
  /** Commas in each container around the present place, by its depth; far below zero in a list. */
  readonly #commas: Int32Array;
  /** Whether an object of the present message has too many members. */
  #isWide = false;
  /** The names of the present members at the first two of these depths. */
  readonly #names = ["", ""];
  #hasResult = false;
  #start = -1;
  #end = -1;
  #odd = false;
  #hasMethod = false;
  #id: Span | undefined;

  constructor(text: string, maxDepth: number, sender: Sender) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#sender = sender;
    this.#commas = new Int32Array(maxDepth + 1);
    this.#outer = text.charCodeAt(skipSpace(text, 0)) === OPEN_ARRAY ? 2 : 1;
  }

  *inSteps(): Generator<void, Outline, void> {
    const text = this.#text;
    let next = STEP_CHARS;
    for (let at = 0; at < text.length; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          at = this.#string(at);
          break;
        case OPEN_OBJECT:
          this.#open(0);
          break;
        case OPEN_ARRAY:
          this.#open(IN_LIST);
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#close(at);
          break;
        case COMMA:
          this.#comma();
          break;
      }
      if (at < next) continue;
      next = at + STEP_CHARS;
      yield;
    }
    const isSpan = !this.#odd && this.#end !== -1 && text.charCodeAt(this.#start) === OPEN_OBJECT;
    return {
      tooDeep: this.#tooDeep,
      tooMany: this.#containers > MAX_CONTAINERS,
      result: isSpan ? { start: this.#start, end: this.#end } : undefined,
      id: this.#odd || this.#hasMethod ? undefined : this.#id,
      refused: this.#refused,
    };
  }

  #open(commas: number): void {
    this.#containers++;
    this.#depth++;
    this.#commas[this.#depth] = commas;
    if (this.#depth > this.#maxDepth) this.#tooDeep = true;
    const level = this.#depth - this.#outer;
    if (level < 0 || level > 2) return;
    this.#members[level] = 0;
    if (level < 2) this.#names[level] = "";
  }

  #close(at: number): void {
    this.#depth--;
    if (this.#outer === 1 && this.#depth === 1 && this.#start !== -1 && this.#end === -1) this.#end = at + 1;
    if (this.#depth === this.#outer - 1) this.#endMessage();
  }

  #comma(): void {
    this.#values++;
    const commas = (this.#commas[this.#depth] ?? 0) + 1;
    this.#commas[this.#depth] = commas;
    if (commas === MAX_OBJECT_MEMBERS) this.#isWide = true;
    const level = this.#depth - this.#outer;
    if (level > 2) return;
    if (level < 0) {
      this.#message++;
      return;
    }
    if (level === 2 && !COUNTED.has(this.#names[1] as string)) return;
    const count = (this.#members[level] as number) + 1;
    this.#members[level] = count;
    if (count !== MAX_MEMBERS) return;
    const path = ["the message", this.#names[0], this.#names.join(".")][level];
    this.#refuse(`${path} has more than ${MAX_MEMBERS} members`);
  }

  #endMessage(): void {
    const isFromServer = this.#sender === "server";
    if (!(isFromServer && this.#hasResult)) {
      if (isFromServer && this.#values >= MAX_SERVER_VALUES)
        this.#refuse(`the message has more than ${MAX_SERVER_VALUES} values`);
      if (this.#isWide) this.#refuse(`an object in the message has more than ${MAX_OBJECT_MEMBERS} members`);
    }
    this.#values = 0;
    this.#isWide = false;
    this.#hasResult = false;
  }

  #refuse(why: string): void {
    if (!this.#refused.has(this.#message)) this.#refused.set(this.#message, why);
  }

  /** Reads the string that begins at `start`; returns the index before what follows it. */
  #string(start: number): number {
    const text = this.#text;
    const close = endOfString(text, start);
    if (close === -1) return text.length;
    const level = this.#depth - this.#outer;
    if (level !== 0 && level !== 1) return close;
    const after = skipSpace(text, close + 1);
    if (text.charCodeAt(after) !== COLON) return close;
    const name = close - start <= MAX_NAME_LENGTH ? text.slice(start + 1, close) : "";
    this.#names[level] = name;
    if (level === 1) return after;
    this.#odd ||= text.slice(start, close).includes("\\");
    if (name === "result") {
      this.#odd ||= this.#start !== -1;
      this.#hasResult = true;
      if (this.#outer === 1) this.#start = skipSpace(text, after + 1);
    } else if (name === "method") this.#hasMethod = true;
    else if (name === "id" && this.#outer === 1) this.#id = this.#scalar(skipSpace(text, after + 1));
    return after;
  }

  #scalar(start: number): Span {
    const text = this.#text;
    if (text.charCodeAt(start) === QUOTE) return { start, end: endOfString(text, start) + 1 };
    let end = start;
    while (end < text.length && !ENDS.has(text.charCodeAt(end))) end++;
    return { start, end };
  }
}

/** The members of results and parameters whose own members are read one by one. */
const COUNTED: ReadonlySet<string> = new Set([
  ...["_meta", "inputRequests", "capabilities", "serverInfo"],
  // Their elements are renamed one by one.
  ...["content", "contents", "messages"],
]);
/** Where the commas of a list begin: there are never enough to count as members. */
const IN_LIST = -(2 ** 31);
/** Of a name that is compared or quoted. */
const MAX_NAME_LENGTH = 64;
const ENDS: ReadonlySet<number> = new Set([COMMA, CLOSE_ARRAY, CLOSE_OBJECT]);
