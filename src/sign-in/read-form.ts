/** Reads the fields of a small form. */
import type { IncomingMessage } from "node:http";
import { SignInRefusal } from "./sign-in-refusal.js";

/** A token and a key have a few hundred bytes. */
const MAX_BYTES = 16_384;

/** Reads a form body. @throws SignInRefusal if it is not a form or too large */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded(?:\s*;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new SignInRefusal("This address takes the form of its own page only. Open it in a browser.", 400);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BYTES) throw new SignInRefusal("The form is too large.", 400);
    chunks.push(chunk as Buffer);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}
