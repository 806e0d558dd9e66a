/** How are messages to a legacy host written as text around unchanged payloads, and where do they go? */
import type { StopSignal } from "../../core/stop.js";
import type { FrameError, MessageId, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Payload } from "../../wire/payload.js";

/** One message, ready to be written; in pieces where copying them together would cost more than it is worth. */
export type MessageText = string | readonly (string | Buffer)[];

/** The message as a list of pieces. */
export const piecesOf = (text: MessageText): readonly (string | Buffer)[] =>
  typeof text === "string" ? [text] : text;

/** The message as one string. */
export const stringOf = (text: MessageText): string => (typeof text === "string" ? text : text.join(""));

/** The response to `id` that carries `result`. */
export function resultText(id: MessageId, result: Payload): MessageText {
  const head = `{"jsonrpc":"2.0","id":${writeJson(id)},"result":{`;
  const { members } = result;
  return typeof members === "string" ? `${head}${members}}` : [head, members, "}"];
}

/** The array of those messages, in pieces: together they may be longer than a string can be. */
export const arrayOf = (texts: readonly MessageText[]): MessageText => [
  ...texts.flatMap((text, at) => [at === 0 ? "[" : ",", ...piecesOf(text)]),
  texts.length === 0 ? "[]" : "]",
];

/** The error response to `id`; null where the id must not be used, undefined where there is none. */
export const errorText = (id: MessageId | null | undefined, error: RpcError): string =>
  writeJson({ jsonrpc: "2.0", ...(id !== undefined && { id }), error });

/** The error response to a member of a batch that is no message. */
export const frameErrorText = ({ id, code, message }: FrameError): string =>
  errorText(id ?? null, { code, message });

/** A notification. */
export const noticeText = (method: string, params?: JsonObject): string =>
  writeJson({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });

/** A request of the gateway to the client. */
export const requestText = (id: MessageId, method: string, params?: JsonObject): string =>
  writeJson({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });

/** Sends messages to a client that are no responses. */
export interface MessageSink {
  /** False when the message cannot be sent, because no host would read it. */
  send(text: MessageText): boolean;
}

/** Sends the messages of one request: those before its response, and the response. */
export interface ResponseSink extends MessageSink {
  /**
   * The response. Nothing is said after it. `scopes` are what a token must grant for another response: over HTTP
   * that is a refusal with a status of its own.
   */
  respond(text: MessageText, scopes?: readonly string[]): void;
  /** No response will come, because the client has cancelled the request. */
  skipResponse(): void;
}

/** Sends messages that belong to no request: on the GET streams of a session, or its pipe. */
export interface SessionSink extends MessageSink {
  /** Whether the host is connected; messages to a host that is not may be queued. */
  readonly isConnected: boolean;
  /** Resolves to true once the host is connected, to false after `waitMs` or when `signal` aborts. */
  waitUntilConnected(waitMs: number, signal: StopSignal): Promise<boolean>;
  /** The client is ready for requests and notifications; a pipe has no other sign of it. */
  markReady?(): void;
  /** Ends everything that is open. */
  close(): void;
}
