/** What is a valid JSON-RPC message? The frame is checked, `params` and `result` are left unchanged. */
import { CaseFoldedNames } from "./case-folding.js";
import { toBigInt } from "./decimal.js";
import { ExactNumber, isObject, type JsonObject, numberOf } from "./json.js";
import { parseJson, writeJson } from "./json-text.js";
import { outlineInSteps } from "./outline.js";
import { parseInSteps } from "./parse-in-steps.js";
import {
  memberPath,
  type PrototypeMember,
  prototypeMembers,
  prototypeMembersInSteps,
} from "./prototype-members.js";

/** A JSON-RPC error. */
export interface RpcError {
  /** An integer; see `codeOf`. */
  readonly code: number | ExactNumber;
  readonly message: string;
  readonly data?: unknown;
}

/** The code as a number. */
export const codeOf = ({ code }: RpcError): number => (typeof code === "number" ? code : Number(code.source));

/** The text of a result. A symbol, which no member name collides with and JSON.stringify skips. */
export const RESULT_TEXT = Symbol("result text");

/** The error of a server's malformed request, with which it is answered. */
export const FRAME_FAULT = Symbol("frame fault");

/** The members of a response that set prototypes; of a result only those inside list entries, see `readMessages`. */
export const PROTOTYPE_MEMBERS = Symbol("prototype members");

/** Cached `_meta` text of requests with the same client description; see `PreparedMeta`. */
export const PREPARED_META = Symbol("prepared _meta");

/** The `_meta` of a request as JSON text, and the other parameters, so that the text is not serialized again. */
export interface PreparedMeta {
  readonly text: string;
  readonly others: JsonObject;
}

/** One JSON-RPC message: a request, notification or response, by the members it has. */
export interface Envelope {
  readonly jsonrpc: "2.0";
  readonly id?: MessageId;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: RpcError;
  /** The received text of `result`, where it is known; see `readMessages`. */
  readonly [RESULT_TEXT]?: string | Buffer;
  readonly [PREPARED_META]?: PreparedMeta;
  /** The request is malformed and must only be answered with this error; see `readMessages`. */
  readonly [FRAME_FAULT]?: FrameError;
  readonly [PROTOTYPE_MEMBERS]?: readonly PrototypeMember[];
}

/** A message that needs a response. */
export interface Request extends Envelope {
  readonly id: MessageId;
  readonly method: string;
}
/** A message without a response. */
export interface Notification extends Envelope {
  readonly method: string;
}

/** A message that is not JSON-RPC 2.0 as MCP narrows it; `code` is the JSON-RPC code to answer with. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  constructor(
    readonly code: -32700 | -32600 | -32602,
    message: string,
    /** The id to answer, where it could be read. */
    readonly id?: MessageId,
  ) {
    super(message);
  }
}

/** A message has a member that sets a prototype where JavaScript copies it. */
export class PrototypeMemberError extends FrameError {
  constructor(member: PrototypeMember, id?: MessageId) {
    super(-32602, prototypeMemberSentence(member), id);
  }
}

/** The refusal of such a member. */
export const prototypeMemberSentence = (member: PrototypeMember): string =>
  `${writeJson(memberPath(member))} sets a prototype where JavaScript copies it; use another name`;

/** Whether it has a method and an id. */
export const isRequest = (message: Envelope): message is Request =>
  message.method !== undefined && message.id !== undefined;
/** Whether it has a method and no id. */
export const isNotification = (message: Envelope): message is Notification =>
  message.method !== undefined && message.id === undefined;
/** Whether it has no method. */
export const isResponse = (message: Envelope): boolean => message.method === undefined;
/** The messages of one JSON array; a malformed one is replaced by its error. */
export type Batch = readonly (Envelope | FrameError)[];

/** Array.isArray, which does not narrow read-only arrays. */
export const isBatch = (document: Envelope | Batch): document is Batch => Array.isArray(document);

/** The valid messages of a batch. */
export const messagesIn = (batch: Batch): readonly Envelope[] =>
  batch.filter((one): one is Envelope => !(one instanceof FrameError));

/**
 * Parses one document of a host: a message, or a batch of them. A response with a member that sets a prototype has it in
 * `PROTOTYPE_MEMBERS`, for the question that it answers; other messages with such a member are refused.
 *
 * @throws FrameError for invalid JSON (-32700), an invalid message or an empty batch (-32600), a member that sets a prototype
 * (-32602).
 */
export function parseDocument(text: string): Envelope | Batch {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw invalidJson();
  }
  return checkDocument(value, prototypeMembers(text));
}

/**
 * `parseDocument` in steps, for a long text; yields between them. A message with more members than the gateway can read in
 * one turn of the event loop is invalid too.
 *
 * @throws NestedTooDeep beyond `maxDepth`, or FrameError
 */
export function* parseDocumentInSteps(
  text: string,
  maxDepth: number,
): Generator<void, Envelope | Batch, void> {
  const { refused } = yield* outlineInSteps(text, maxDepth, "host");
  let value: unknown;
  try {
    value = yield* parseInSteps(text, maxDepth);
  } catch (error) {
    throw error instanceof SyntaxError ? invalidJson() : error;
  }
  const members = yield* prototypeMembersInSteps(text);
  const isRefused = (at: number): string | undefined => refused.get(at);
  if (!Array.isArray(value)) return checkSingle(value, members[0], isRefused(0));
  const first = firstOfEach(value, members);
  const batch: (Envelope | FrameError)[] = [];
  for (const [at, one] of value.entries()) {
    if (at % CHECKED_IN_STEP === 0) yield;
    batch.push(checkBatchMember(one, first.get(at), isRefused(at)));
  }
  return batch;
}

/** Messages that one step checks: a few milliseconds where all are invalid. */
export const CHECKED_IN_STEP = 512;

const invalidJson = (): FrameError => new FrameError(-32700, "the message is not valid JSON");

function checkDocument(value: unknown, members: readonly PrototypeMember[]): Envelope | Batch {
  if (!Array.isArray(value)) return checkSingle(value, members[0]);
  const first = firstOfEach(value, members);
  return value.map((one, at) => checkBatchMember(one, first.get(at)));
}

/** @param refusal why the message is invalid, where that is known already */
function checkSingle(value: unknown, member: PrototypeMember | undefined, refusal?: string): Envelope {
  if (refusal !== undefined)
    throw new FrameError(-32600, refusal, isObject(value) ? readId(value) : undefined);
  return refuseMember(checkFrame(value), member);
}

/** The first such member of each message. @throws FrameError for an empty batch */
function firstOfEach(
  batch: readonly unknown[],
  members: readonly PrototypeMember[],
): ReadonlyMap<number, PrototypeMember> {
  if (batch.length === 0) throw new FrameError(-32600, "the batch is empty");
  const first = new Map<number, PrototypeMember>();
  for (const member of members) if (!first.has(member.message)) first.set(member.message, member);
  return first;
}

/** A malformed message of a batch is answered with its own error (JSON-RPC 2.0, 6, "Batch"). */
function checkBatchMember(
  value: unknown,
  member: PrototypeMember | undefined,
  refusal?: string,
): Envelope | FrameError {
  try {
    return checkSingle(value, member, refusal);
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
}

/** @throws PrototypeMemberError unless `message` is a response, or there is no such member */
function refuseMember(message: Envelope, member: PrototypeMember | undefined): Envelope {
  if (member === undefined) return message;
  if (!isResponse(message)) throw new PrototypeMemberError(member, message.id);
  return { ...message, [PROTOTYPE_MEMBERS]: [member] };
}

/**
 * Checks the frame of a parsed message and returns the same object.
 *
 * @throws FrameError (-32600) that names the invalid member.
 */
export function checkFrame(value: unknown): Envelope {
  if (!isObject(value)) throw new FrameError(-32600, "a message must be a JSON object");
  const id = readId(value);
  const refuse = (what: string): never => {
    throw new FrameError(-32600, what, id);
  };
  if (value.jsonrpc !== "2.0") refuse('"jsonrpc" must be "2.0"');
  for (const key in value) {
    // A parser that ignores case would read "Method" as "method" (CVE-2026-27896). Policy and server must read the same
    // message, so look-alikes are refused.
    if (MEMBER_NAMES.has(key)) continue;
    const meant = FRAME.match(key);
    if (meant !== undefined) refuse(`"${key}" could be read as "${meant}"`);
  }
  if (Object.hasOwn(value, "id") && id === undefined) refuse('"id" must be a string or an integer');
  if (Object.hasOwn(value, "method")) {
    if (typeof value.method !== "string") refuse('"method" must be a string');
    // Serializers of some languages write null for what is absent.
    if (value.params === null) delete (value as { params?: unknown }).params;
    else if (Object.hasOwn(value, "params") && !isObject(value.params)) refuse('"params" must be an object');
    if (Object.hasOwn(value, "result") || Object.hasOwn(value, "error")) refuse("a request has no result");
    return value as unknown as Envelope;
  }
  // Some servers return the integer id of a request with a fraction (`1.0`).
  const own = id instanceof ExactNumber ? idKey(id) : undefined;
  if (typeof own === "number") (value as { id?: unknown }).id = own;
  const hasResult = Object.hasOwn(value, "result");
  const hasError = Object.hasOwn(value, "error");
  if (hasResult === hasError) refuse("a message has a method, a result or an error");
  if (hasResult && !isObject(value.result)) refuse('"result" must be an object');
  if (hasError && !isRpcError(value.error)) refuse('"error" must have a code and a message');
  if (hasError) {
    const twin = Object.keys(value.error as JsonObject).find((key) => (ERROR.match(key) ?? key) !== key);
    if (twin !== undefined) refuse(`"error.${twin}" could be read as "error.${ERROR.match(twin)}"`);
  }
  return value as unknown as Envelope;
}

/**
 * The id of a malformed message that was meant as a request: it has a method, or a look-alike of one and neither result
 * nor error.
 */
export function requestIdOf(value: unknown): MessageId | undefined {
  if (!isObject(value)) return undefined;
  const has = (key: string): boolean => Object.hasOwn(value, key);
  const isRequestLike =
    has("method") ||
    (!has("result") && !has("error") && Object.keys(value).some((key) => FRAME.match(key) === "method"));
  return isRequestLike ? readId(value) : undefined;
}

const MEMBERS = ["jsonrpc", "id", "method", "params", "result", "error"];
const MEMBER_NAMES = new Set(MEMBERS);
const FRAME = new CaseFoldedNames(MEMBERS);
const ERROR = new CaseFoldedNames(["code", "message", "data"]);

function readId(value: JsonObject): MessageId | undefined {
  const id = Object.hasOwn(value, "id") ? value.id : undefined;
  return isMessageId(id) ? id : undefined;
}

/** Whether it has an integer code and a message. */
export function isRpcError(value: unknown): value is RpcError {
  return isObject(value) && Number.isInteger(numberOf(value.code)) && typeof value.message === "string";
}

/** A request id or progress token. */
export type MessageId = string | number | ExactNumber;

/** A Map key that is the same for equal ids (`1` and `1.0`); strings and numbers never collide. */
export type IdKey = string | number | bigint;

/** The key of an id or a progress token; undefined for anything but a string or an integer. */
export function idKey(id: unknown): IdKey | undefined {
  if (typeof id === "string") return id;
  if (typeof id === "number") return Number.isInteger(id) ? id : undefined;
  return id instanceof ExactNumber ? integerOf(id) : undefined;
}

/**
 * The integer that a text is the plain decimal form of, as an id or token that a peer returned in another type; undefined for
 * everything else. To be used where no id is this very text.
 */
export function integerInText(id: unknown): number | undefined {
  return typeof id === "string" && PLAIN_INTEGER.test(id) ? Number(id) : undefined;
}
const PLAIN_INTEGER = /^(?:0|[1-9]\d{0,14})$/;

/** The key of a valid id. */
export function idKeyOf(id: MessageId): IdKey {
  return typeof id === "object" ? (idKey(id) ?? id.source) : id;
}

/** Whether it is a valid progress token; any number is. */
export const isProgressToken = (value: unknown): value is MessageId =>
  typeof value === "string" ||
  typeof value === "number" ||
  (value instanceof ExactNumber && value.source.length <= MAX_DIGITS);

/** Whether it is a valid request id. */
export const isMessageId = (value: unknown): value is MessageId => idKey(value) !== undefined;

/** Limit of digits; converting them takes quadratic time. */
const MAX_DIGITS = 1000;

function integerOf(number: ExactNumber): number | bigint | undefined {
  if (number.source.length > MAX_DIGITS) return undefined;
  const whole = toBigInt(number, MAX_DIGITS);
  if (whole === undefined) return undefined;
  const near = Number(whole);
  return Number.isFinite(near) && BigInt(near) === whole ? near : whole;
}
