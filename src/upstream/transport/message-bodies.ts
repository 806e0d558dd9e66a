/**
 * How is a message written as JSON, and what does an HTTP response say: in its headers, and which message of its body answers
 * the request?
 */
import { GatewayError } from "../../core/errors.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  integerInText,
  isResponse,
  type MessageId,
  messagesIn,
  PREPARED_META,
  type PreparedMeta,
  PrototypeMemberError,
  type Request,
} from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";
import { readMessages, readMessagesInSteps } from "../../wire/message.js";
import type { ChannelResponse, Headers } from "./channel.js";

/**
 * The JSON text of a message.
 *
 * @throws GatewayError `bad_request` when nesting of some thousand levels overflows the stack
 */
export function textOf(message: Envelope): string {
  try {
    const prepared = message[PREPARED_META];
    return prepared === undefined ? writeJson(message) : requestText(message, prepared);
  } catch (cause) {
    throw new GatewayError("bad_request", "gateway", "the message cannot be written as JSON", { cause });
  }
}

function requestText({ id, method }: Envelope, { text, others }: PreparedMeta): string {
  const rest = writeJson(others).slice(1);
  const separator = rest === "}" ? "" : ",";
  const head = `{"jsonrpc":"2.0","id":${writeJson(id)},"method":${writeJson(method)}`;
  return `${head},"params":{"_meta":${text}${separator}${rest}}`;
}

/**
 * The same on one line for all readers: Node's readline splits at U+2028 and U+2029, Python's splitlines at U+0085 too. In
 * JSON they occur in strings only, where they may be escaped.
 *
 * @throws GatewayError as `textOf` does.
 */
export function lineOf(message: Envelope): string {
  const text = textOf(message);
  // Three native searches are cheaper than one regular expression.
  if (!text.includes("\u2028") && !text.includes("\u2029") && !text.includes("\u0085")) return text;
  return text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029").replaceAll("\u0085", "\\u0085");
}

/** A response over HTTP. */
export class HttpResponse implements ChannelResponse {
  readonly message: Envelope;
  readonly status: number;
  readonly #headers: ResponseHeaders;

  constructor(message: Envelope, status: number, headers: ResponseHeaders) {
    this.message = message;
    this.status = status;
    this.#headers = headers;
  }

  header(name: string): string | undefined {
    return headerOf(this.#headers, name);
  }
}

/**
 * `message` if it is the response to `request`, with the request's id; else `undefined`. An error may lack the id, when
 * the server refused before it read the id; some servers return an integer id as text.
 */
export function responseTo(request: Request, message: Envelope): Envelope | undefined {
  if (!isResponse(message)) return undefined;
  if (message.id === request.id) return message;
  const isAnswer = message.id === undefined ? message.error !== undefined : isInText(request.id, message.id);
  return isAnswer ? { ...message, id: request.id } : undefined;
}

/** Whether a server means this id by the text that it returned. */
export const isInText = (id: MessageId, returned: MessageId): boolean =>
  typeof returned === "string" && integerInText(returned) === id;

/** What a JSON body holds: the response and other messages, or none. */
export type ResponseDocument =
  | { readonly response: Envelope; readonly others: readonly Envelope[] }
  /** Why it holds no response; `undefined` when the HTTP status explains it. */
  | {
      readonly response?: never;
      readonly refusal: string | undefined;
      /** Where the response has a member that sets a prototype. */
      readonly fault?: PrototypeMemberError;
    };

/** Reads a body that is no event stream. With an HTTP error status only a JSON-RPC error is a response. */
export function readDocument(request: Request, status: number, body: Buffer): ResponseDocument {
  try {
    return documentOf(request, status, body.length === 0 ? undefined : readMessages(body));
  } catch (error) {
    return notValid(status, error);
  }
}

/** The same in steps, for a large body. */
export function* readDocumentInSteps(
  request: Request,
  status: number,
  body: Buffer,
): Generator<void, ResponseDocument, void> {
  try {
    return documentOf(request, status, yield* readMessagesInSteps(body));
  } catch (error) {
    return notValid(status, error);
  }
}

/** @param batch undefined where the body is empty */
function documentOf(request: Request, status: number, batch: Batch | undefined): ResponseDocument {
  const ok = isOk(status);
  if (batch === undefined) {
    return { refusal: ok ? `answered a request with an empty body (HTTP status ${status})` : undefined };
  }
  for (const message of batch) {
    if (message instanceof FrameError) continue;
    const response = responseTo(request, message);
    if (response === undefined || !(ok || response.error !== undefined)) continue;
    return { response, others: batch.length === 1 ? [] : messagesIn(batch).filter((one) => one !== message) };
  }
  const bad = batch.find((one): one is FrameError => one instanceof FrameError);
  if (bad !== undefined) return notValid(status, bad);
  return { refusal: ok ? "answered with a message that is not the response to the request" : undefined };
}

/** @throws `error` when it is no FrameError */
function notValid(status: number, error: unknown): ResponseDocument {
  if (!(error instanceof FrameError)) throw error;
  if (isOk(status) && error instanceof PrototypeMemberError) return { refusal: error.message, fault: error };
  return {
    refusal: isOk(status) ? `answered with something that is no valid response: ${error.message}` : undefined,
  };
}

const isOk = (status: number): boolean => status < 300;

/** By name in lower case; a list where the header came several times. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** No response headers. */
export const NO_HEADERS: ResponseHeaders = {};

/** One header by its name in lower case; values of a repeated header are joined with commas (RFC 9110, 5.3). */
export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  // A name such as `constructor` is none of the object's own.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value === undefined || typeof value === "string" ? value : value.join(", ");
}

/** All headers, as one string each. */
export const singleValued = (headers: ResponseHeaders): Headers =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, headerOf(headers, name) ?? ""]));

/** Whether the content type is `text/event-stream`. */
export function isEventStream(headers: ResponseHeaders): boolean {
  const type = headerOf(headers, "content-type");
  return type !== undefined && (type === "text/event-stream" || /^\s*text\/event-stream\s*(;|$)/i.test(type));
}

/** `Retry-After` in milliseconds; on the wire it is a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: ResponseHeaders, now: number = Date.now()): number | undefined {
  const header = headerOf(headers, "retry-after");
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
