/** JSON-RPC messages as text, written around payloads that stay as they came. */
import type { MessageId, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import type { Payload } from "../../wire/payload.js";

/** One message, ready to be written. */
export type Text = string | Buffer;

/** The response to `id` that carries `result`. */
export function resultText(id: MessageId, result: Payload): Text {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  const { text } = result;
  return typeof text === "string" ? `${head}${text}}` : Buffer.concat([Buffer.from(head), text, CLOSE]);
}

const CLOSE = Buffer.from("}");

/** The error response to `id`; null where the id must not be used, undefined where there is none. */
export const errorText = (id: MessageId | null | undefined, error: RpcError): string =>
  JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), error });

export const noticeText = (method: string, params?: JsonObject): string =>
  JSON.stringify({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });

export const requestText = (id: MessageId, method: string, params?: JsonObject): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });

/**
 * The same message on one line, as pipes need it. Line breaks in JSON stand only between tokens (inside
 * strings they are escaped), so blanks may take their place.
 */
export function oneLine(text: Text): Text {
  if (typeof text === "string") return /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, " ") : text;
  if (!text.includes(LF) && !text.includes(CR)) return text;
  const copy = Buffer.from(text);
  for (const [at, byte] of copy.entries()) if (byte === LF || byte === CR) copy[at] = BLANK;
  return copy;
}

const LF = 10;
const CR = 13;
const BLANK = 32;
