/** JSON-RPC messages as text, written around payloads that stay as they came. */
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
