/** The credentials of an HTTP request: what was sent, and what it looks like. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../core/errors.js";

export interface Credential {
  /** A token is a signed JWT (RFC 7519); everything else can only be a key. */
  readonly kind: "key" | "token";
  readonly text: string;
}

/** Three parts in base64url: header, claims and signature (RFC 7515, 7.1); that of `alg: none` has no third. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** RFC 6750, 2.1; a key made elsewhere may have other characters than those of a token. */
const BEARER = /^bearer +([!-~]+) *$/i;

/**
 * What stands in `Authorization: Bearer` or `X-API-Key`; undefined when nothing does. Neither the query nor a
 * cookie is looked at: the one ends up in logs, the other comes from pages that know nothing of it.
 *
 * @throws GatewayError `bad_request` when both headers are there: somebody before us may have judged the other
 */
export function credentialOf({ headers }: Pick<IncomingMessage, "headers">): Credential | undefined {
  const { authorization } = headers;
  const apiKey = headers["x-api-key"];
  if (authorization === undefined) {
    return typeof apiKey === "string" && apiKey !== "" ? { kind: "key", text: apiKey } : undefined;
  }
  if (apiKey !== undefined) {
    throw new GatewayError(
      "bad_request",
      "downstream",
      "there are credentials in two headers; one is enough",
    );
  }
  const text = BEARER.exec(authorization)?.[1];
  return text === undefined ? undefined : { kind: TOKEN.test(text) ? "token" : "key", text };
}
