/** The body of a request to the admin listener, whether its length was declared or not. */

import { BadQuery } from "../../core/admin-page.js";
import { GatewayError } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";

/** The maximum size of a body in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Reads the body. Its bytes are counted as they come, and none is kept beyond the limit of `maxBytes`; no body is an empty text.
 *
 * @throws GatewayError `too_large`
 */
export async function bodyText({ body }: Request, maxBytes: number = MAX_BODY_BYTES): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw bodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The body as an object of JSON; no body is an empty one. @throws BadQuery, GatewayError `too_large` */
export async function bodyObject(request: Request, maxBytes?: number): Promise<JsonObject> {
  const text = await bodyText(request, maxBytes);
  let body: unknown;
  try {
    body = text.trim() === "" ? {} : parseJson(text);
  } catch (cause) {
    throw new BadQuery("the body is not JSON", { cause });
  }
  if (!isObject(body)) throw new BadQuery("the body must be a JSON object");
  return body;
}

/** The error (413) for a body beyond the limit. */
export const bodyTooLarge = (maxBytes: number = MAX_BODY_BYTES): GatewayError =>
  new GatewayError("too_large", "downstream", `the body is larger than ${maxBytes} bytes`);
