/** How do bytes from a server become checked messages? */
import { isAscii, isUtf8 } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import {
  type Batch,
  CHECKED_IN_STEP,
  checkFrame,
  type Envelope,
  FRAME_FAULT,
  FrameError,
  isMessageId,
  isRequest,
  type MessageId,
  PROTOTYPE_MEMBERS,
  PrototypeMemberError,
  RESULT_TEXT,
  requestIdOf,
} from "./envelope.js";
import { isObject, type JsonObject, without } from "./json.js";
import { OPEN_ARRAY, OPEN_OBJECT, type Span, scanResponse } from "./json-scan.js";
import { parseJson } from "./json-text.js";
import { checkServerLengths, MAX_NAME_LENGTH } from "./length-limits.js";
import { MAX_CONTAINERS, type Outline, outlineInSteps } from "./outline.js";
import { parseInSteps } from "./parse-in-steps.js";
import {
  isInListEntry,
  type PrototypeMember,
  prototypeMembers,
  prototypeMembersInSteps,
} from "./prototype-members.js";

/**
 * The nesting limit for messages of servers. Higher than for clients, because results such as syntax trees may be deep,
 * and far below a stack overflow in JSON.stringify.
 */
const MAX_ANSWER_DEPTH = 512;

/**
 * Reads one JSON document: one message, or the batch that servers of 2025-03-26 may send. Invalid UTF-8 is
 * replaced, not refused, so that one bad character does not fail a call.
 * An error response whose id is `null` (JSON-RPC's "the id could not be read") comes back without an id.
 *
 * A malformed request of the server is returned with its error as `FRAME_FAULT`, so that it can be answered; any other
 * malformed member of a batch is returned as its FrameError. A result with members that set prototypes is malformed, unless
 * all of them are inside list entries: `PROTOTYPE_MEMBERS` has these, so that the other entries can be listed.
 *
 * @throws FrameError, with the id of a response that has one. Ids of a server's own requests are not given: they are
 * counted separately from the gateway's.
 */
export function readMessages(document: Buffer | string): Batch {
  const text = typeof document === "string" ? document : decoded(document);
  const value = parse(withoutMark(text));
  return messagesOf(value, document, text, prototypeMembers(text));
}

/**
 * The same in steps, for a long document. A message with more members than the gateway can handle in one turn of the event
 * loop is malformed too.
 *
 * @throws FrameError without an id where a batch is nested too deeply
 */
export function* readMessagesInSteps(document: Buffer): Generator<void, Batch, void> {
  // Large results may arrive together; each is decoded in its own turn of the event loop.
  yield;
  const text = withoutMark(yield* decodedInSteps(document));
  yield;
  const outline = yield* outlineInSteps(text, MAX_ANSWER_DEPTH, "server");
  if (outline.tooDeep) throw tooDeepFault(idIn(text, outline));
  if (outline.tooMany) throw tooManyFault(idIn(text, outline));
  let value: unknown;
  try {
    value = yield* parseInSteps(text, MAX_ANSWER_DEPTH);
  } catch (error) {
    throw error instanceof SyntaxError ? invalidJson() : error;
  }
  const members = yield* prototypeMembersInSteps(text);
  yield;
  const refusalOf = (at: number): FrameError | undefined => {
    const why = outline.refused.get(at);
    return why === undefined ? undefined : new FrameError(-32600, why);
  };
  if (!Array.isArray(value)) {
    const message = check(value, text.length, members, refusalOf(0));
    if (outline.result !== undefined) message[RESULT_TEXT] = textOf(document, text, outline.result);
    return [message];
  }
  const byMessage = membersByMessage(members);
  const messages: (Envelope | FrameError)[] = [];
  for (const [at, each] of value.entries()) {
    if (at % CHECKED_IN_STEP === 0) yield;
    messages.push(orFrameError(() => check(each, text.length, byMessage.get(at), refusalOf(at))));
  }
  return messages;
}

function idIn(text: string, { id: span }: Outline): MessageId | undefined {
  if (span === undefined || span.end - span.start > MAX_NAME_LENGTH) return undefined;
  try {
    const id = parseJson(text.slice(span.start, span.end));
    return isMessageId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** The messages in `value`, the parsed `text` of `document`. */
function messagesOf(
  value: unknown,
  document: Buffer | string,
  text: string,
  members: readonly PrototypeMember[],
): Batch {
  const { tooDeep, result } = scanResponse(text, MAX_ANSWER_DEPTH);
  if (tooDeep) {
    const fault = tooDeepFault();
    return Array.isArray(value)
      ? value.map((each) => orFrameError(() => asRefusedRequest(each, fault)))
      : [asRefusedRequest(value, fault)];
  }
  if (Array.isArray(value)) {
    const byMessage = membersByMessage(members);
    return value.map((each, at) => orFrameError(() => check(each, text.length, byMessage.get(at))));
  }
  const message: Received = check(value, text.length, members);
  if (result !== undefined) message[RESULT_TEXT] = textOf(document, text, result);
  return [message];
}

function membersByMessage(
  members: readonly PrototypeMember[],
): ReadonlyMap<number, readonly PrototypeMember[]> {
  const byMessage = new Map<number, PrototypeMember[]>();
  for (const one of members) {
    const others = byMessage.get(one.message);
    if (others === undefined) byMessage.set(one.message, [one]);
    else others.push(one);
  }
  return byMessage;
}

const tooManyFault = (id: MessageId | undefined): FrameError =>
  new FrameError(-32600, `the message has more than ${MAX_CONTAINERS} objects and lists`, id);

const tooDeepFault = (id?: MessageId): FrameError =>
  new FrameError(-32600, `the message is nested deeper than ${MAX_ANSWER_DEPTH} levels`, id);

const withoutMark = (text: string): string => (startsWithMark(text) ? text.slice(1) : text);

/** ASCII, as most long results are, is detected and decoded faster as Latin-1 than as UTF-8. */
const decoded = (document: Buffer): string =>
  document.toString(document.length >= MIN_BUFFER_BYTES && isAscii(document) ? "latin1" : "utf8");

/** Bytes that one step decodes: a few milliseconds. */
const DECODED_BYTES = 524_288;

function* decodedInSteps(document: Buffer): Generator<void, string, void> {
  if (isAscii(document)) return document.toString("latin1");
  const decoder = new StringDecoder("utf8");
  const pieces: string[] = [];
  for (let at = 0; at < document.length; at += DECODED_BYTES) {
    pieces.push(decoder.write(document.subarray(at, at + DECODED_BYTES)));
    yield;
  }
  return pieces.join("") + decoder.end();
}

type Received = Envelope & {
  [RESULT_TEXT]?: string | Buffer;
  [PROTOTYPE_MEMBERS]?: readonly PrototypeMember[];
};

/** From this size on results are kept as bytes, which need not be encoded again. */
const MIN_BUFFER_BYTES = 4096;

/** A long result is kept as bytes, unless these are not UTF-8. In ASCII, offsets in text and bytes are equal. */
function textOf(document: Buffer | string, text: string, { start, end }: Span): string | Buffer {
  if (typeof document === "string" || end - start < MIN_BUFFER_BYTES) return text.slice(start, end);
  if (isAscii(document)) return document.subarray(start, end);
  if (!isUtf8(document)) return text.slice(start, end);
  const mark = hasMark(document) && !startsWithMark(text) ? MARK_BYTES : 0;
  return document.subarray(
    mark + Buffer.byteLength(text.slice(0, start)),
    document.length - Buffer.byteLength(text.slice(end)),
  );
}

/** Bytes of a byte order mark. */
const MARK_BYTES = 3;
const startsWithMark = (text: string): boolean => text.charCodeAt(0) === 0xfeff;
const hasMark = (line: Buffer): boolean => line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf;

/**
 * False when a line is certainly no message, by its first bytes: much cheaper than a failed parse when a server writes
 * log lines to stdout.
 */
export function looksLikeMessage(line: Buffer): boolean {
  if (line.length < MIN_MESSAGE_BYTES) return false;
  // A byte order mark may precede any line.
  let at = hasMark(line) ? MARK_BYTES : 0;
  while (line[at] === SPACE || line[at] === TAB || line[at] === LF || line[at] === CR) at += 1;
  return line[at] === OPEN_OBJECT || line[at] === OPEN_ARRAY;
}

/** The length of `{"id":1,"result":1}`: the shortest malformed message with an id. */
const MIN_MESSAGE_BYTES = 19;
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw invalidJson();
  }
}

const invalidJson = (): FrameError => new FrameError(-32700, "the message is not valid JSON");

const NO_MEMBERS: readonly PrototypeMember[] = [];

function check(
  value: unknown,
  length: number,
  members: readonly PrototypeMember[] = NO_MEMBERS,
  refusal?: FrameError,
): Received {
  try {
    if (refusal !== undefined) throw refusal;
    const message: Received = checkFrame(isNullError(value) ? without(value, ["id"]) : value);
    if (members.length > 0) {
      const [fault] = message.result === undefined ? members : members.filter((one) => !isInListEntry(one));
      if (fault !== undefined) throw new PrototypeMemberError(fault, message.id);
      message[PROTOTYPE_MEMBERS] = members;
    }
    // A request of the server is checked, and answered, where it is handled.
    if (!isRequest(message)) checkServerLengths(message, length);
    return message;
  } catch (error) {
    if (error instanceof FrameError) return asRefusedRequest(value, error);
    throw error;
  }
}

/** A malformed request, with its error in place of `params`. @throws FrameError for all other messages */
function asRefusedRequest(value: unknown, error: FrameError): Envelope {
  const { code, message } = error;
  const id = requestIdOf(value);
  if (id === undefined) {
    throw error instanceof PrototypeMemberError ? error : new FrameError(code, message, idOf(value));
  }
  const { method } = value as JsonObject;
  return {
    jsonrpc: "2.0",
    id,
    method: typeof method === "string" ? method : "",
    [FRAME_FAULT]: new FrameError(code, message, id),
  };
}

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
