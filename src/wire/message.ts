/** The one place where bytes from a server become checked messages. */
import { isAscii } from "node:buffer";
import { NestedTooDeep } from "./depth.js";
import {
  type Batch,
  checkFrame,
  type Envelope,
  FRAME_FAULT,
  FrameError,
  isRequest,
  RESULT_TEXT,
  requestIdOf,
} from "./envelope.js";
import { isObject, type JsonObject, without } from "./json.js";
import { parseJson } from "./json-text.js";
import { checkServerLengths } from "./length-limits.js";
import { isMessageId, type MessageId } from "./message-id.js";
import { parseInSteps } from "./parse-in-steps.js";
import { type Span, scanResponse } from "./result-span.js";

/**
 * The deepest nesting taken from a server. More than from a client, because answers (syntax trees, say) may
 * honestly be deep, and still far from where JSON.stringify overflows the stack.
 */
const MAX_ANSWER_DEPTH = 512;

/**
 * Reads one JSON document: one message, or the batch that servers of 2025-03-26 may send. Invalid UTF-8 is
 * replaced, not refused: an answer with one bad character in a text is better than a call without an answer.
 * An error response whose id is `null` (JSON-RPC's "the id could not be read") comes back without an id.
 *
 * A request of the server whose frame is wrong comes as a request that says so (`FRAME_FAULT`), so that it can be
 * answered; of a batch in place of another member that is no message stands what is wrong with it.
 *
 * @throws FrameError, with the id where it is a response and has one; the ids of a server's own requests are
 * counted apart from those of the gateway, and are not given here.
 */
export function readMessages(document: Buffer | string): Batch {
  const text = typeof document === "string" ? document : decoded(document);
  return messagesOf(parse(withoutMark(text)), document, text);
}

/**
 * The same in steps, for a long document.
 *
 * @throws FrameError without an id where it is nested too deeply
 */
export function* readMessagesInSteps(document: Buffer): Generator<void, Batch, void> {
  // Answers may arrive together; each is decoded in a turn of its own.
  yield;
  const text = decoded(document);
  yield;
  let value: unknown;
  try {
    value = yield* parseInSteps(withoutMark(text), MAX_ANSWER_DEPTH);
  } catch (error) {
    if (error instanceof NestedTooDeep) throw tooDeepFault();
    throw error instanceof SyntaxError ? invalidJson() : error;
  }
  yield;
  return messagesOf(value, document, text);
}

/** The messages in `value`, the parsed `text` of `document`. */
function messagesOf(value: unknown, document: Buffer | string, text: string): Batch {
  const { tooDeep, result } = scanResponse(text, MAX_ANSWER_DEPTH);
  if (tooDeep) {
    const fault = tooDeepFault();
    return Array.isArray(value)
      ? value.map((each) => orFrameError(() => asRefusedRequest(each, fault)))
      : [asRefusedRequest(value, fault)];
  }
  if (Array.isArray(value)) return value.map((each) => orFrameError(() => check(each, text.length)));
  const message: Received = check(value, text.length);
  if (result !== undefined) message[RESULT_TEXT] = textOf(document, text, result);
  return [message];
}

const tooDeepFault = (): FrameError =>
  new FrameError(-32600, `the message is nested deeper than ${MAX_ANSWER_DEPTH} levels`);

const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

/** Text of ASCII alone, as long answers mostly are, is told from other text and decoded faster than UTF-8. */
const decoded = (document: Buffer): string =>
  document.toString(document.length >= MIN_BUFFER_BYTES && isAscii(document) ? "latin1" : "utf8");

type Received = Envelope & { [RESULT_TEXT]?: string | Buffer };

/** From here on bytes are worth keeping as bytes: to write them out again, they need not be encoded anew. */
const MIN_BUFFER_BYTES = 4096;

/** A long result stays the bytes it came as, where a place in the text is the same place in the bytes. */
function textOf(document: Buffer | string, text: string, { start, end }: Span): string | Buffer {
  const asBytes = typeof document !== "string" && end - start >= MIN_BUFFER_BYTES && isAscii(document);
  return asBytes ? document.subarray(start, end) : text.slice(start, end);
}

/**
 * False when a line is certainly no message. A look at its first bytes; much cheaper than to fail at parsing it,
 * where a program prints its log among its messages.
 */
export function looksLikeMessage(line: Buffer): boolean {
  if (line.length < MIN_MESSAGE_BYTES) return false;
  // A server that switches its encoding on late puts a byte order mark in front of any line.
  let at = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0;
  while (line[at] === SPACE || line[at] === TAB) at += 1;
  return line[at] === OPEN_OBJECT || line[at] === OPEN_ARRAY;
}

/** As long as `{"id":1,"result":1}`, which is no message yet but tells whose answer it would be. */
const MIN_MESSAGE_BYTES = 19;
const TAB = 9;
const SPACE = 32;
const OPEN_ARRAY = 91;
const OPEN_OBJECT = 123;

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw invalidJson();
  }
}

const invalidJson = (): FrameError => new FrameError(-32700, "the message is not valid JSON");

function check(value: unknown, length: number): Envelope {
  try {
    const message = checkFrame(isNullError(value) ? without(value, ["id"]) : value);
    // A question is answered with what is wrong with it, by whoever hears it.
    if (!isRequest(message)) checkServerLengths(message, length);
    return message;
  } catch (error) {
    if (error instanceof FrameError) return asRefusedRequest(value, error);
    throw error;
  }
}

/** What is left of a message that is none: a request that can only be refused. @throws FrameError for all others */
function asRefusedRequest(value: unknown, { code, message }: FrameError): Envelope {
  const id = requestIdOf(value);
  if (id === undefined) throw new FrameError(code, message, idOf(value));
  const { method } = value as JsonObject;
  return {
    jsonrpc: "2.0",
    id,
    method: typeof method === "string" ? method : "",
    [FRAME_FAULT]: new FrameError(code, message, id),
  };
}

/** For a member of a batch: the others are served. */
function orFrameError(read: () => Envelope): Envelope | FrameError {
  try {
    return read();
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
}

function isNullError(value: unknown): value is JsonObject {
  return isObject(value) && value.id === null && Object.hasOwn(value, "error");
}

function idOf(value: unknown): MessageId | undefined {
  if (!isObject(value) || Object.hasOwn(value, "method")) return undefined;
  return isMessageId(value.id) ? value.id : undefined;
}
