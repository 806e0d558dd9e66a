/** Whether the body of a request is what it must be before anybody reads it. */
import type { IncomingMessage } from "node:http";
import { HttpRefusal } from "./http-errors.js";

/** @throws HttpRefusal 415 unless the request carries JSON, plainly written. */
export function checkContent({ headers }: IncomingMessage): void {
  if (headers["content-type"] === "application/json" && headers["content-encoding"] === undefined) return;
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  const plain = headers["content-encoding"] === undefined || headers["content-encoding"] === "identity";
  // Whatever a form can send reaches us from any page without a question asked before.
  if (type !== "application/json" || !plain) {
    const message = "the content type must be application/json, without a content encoding";
    throw new HttpRefusal(415, "bad_request", message);
  }
}
