/** Which message in the HTTP response to a POST is the response to its request. */
import {
  type Batch,
  type Envelope,
  FrameError,
  isResponse,
  messagesIn,
  type Request,
} from "../../wire/envelope.js";
import { readMessages, readMessagesInSteps } from "../../wire/message.js";
import type { ChannelResponse } from "./channel.js";
import { headerOf, type ResponseHeaders } from "./response-headers.js";

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
 * the server refused before it read the id.
 */
export function responseTo(request: Request, message: Envelope): Envelope | undefined {
  if (!isResponse(message)) return undefined;
  if (message.id === request.id) return message;
  return message.id === undefined && message.error !== undefined ? { ...message, id: request.id } : undefined;
}

/** What a JSON body holds: the response and other messages, or none. */
export type ResponseDocument =
  | { readonly response: Envelope; readonly others: readonly Envelope[] }
  /** Why it holds no response; `undefined` when the HTTP status explains it. */
  | { readonly response?: never; readonly refusal: string | undefined };

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
  return {
    refusal: isOk(status) ? `answered with something that is no valid response: ${error.message}` : undefined,
  };
}

const isOk = (status: number): boolean => status < 300;
