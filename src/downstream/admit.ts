/** Whether an HTTP request may be looked at at all, judged by its head alone. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../core/errors.js";
import { CODE } from "../wire/names.js";
import { type AllowedNames, isAddress } from "./allowed-names.js";
import { HttpRefusal } from "./http-errors.js";

/**
 * Checks what every route must be sure of: who is meant (Host) and on whose behalf (Origin).
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function admit(request: IncomingMessage, names: AllowedNames): void {
  checkOnce(request.rawHeaders);
  checkTarget(request);
  if (!names.host(request.headers.host ?? "")) throw forbidden("this Host is not allowed here");
  checkOrigin(request, names);
}

/**
 * The same for probes of orchestrators, which name the address they found us at: an address is as good as an
 * allowed name, because nobody can rebind it.
 */
export function admitProbe(request: IncomingMessage, names: AllowedNames): void {
  checkOnce(request.rawHeaders);
  const host = request.headers.host ?? "";
  if (!names.host(host) && !isAddress(host)) throw forbidden("this Host is not allowed here");
  checkOrigin(request, names);
}

/** @throws GatewayError unless the request carries JSON, plainly written. */
export function checkContent({ headers }: IncomingMessage): void {
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  const plain = headers["content-encoding"] === undefined || headers["content-encoding"] === "identity";
  // Whatever a form can send reaches us from any page without a question asked before.
  if (type !== "application/json" || !plain) {
    const message = "the content type must be application/json, without a content encoding";
    throw new HttpRefusal(415, "bad_request", message);
  }
}

/**
 * Host, Authorization and the `Mcp-*` headers must stand there once: Node takes the first of the one kind and
 * joins those of the other, while whoever stands in front may have judged by another one of them.
 */
function checkOnce(rawHeaders: readonly string[]): void {
  let hosts = 0;
  let authorizations = 0;
  let seen: Set<string> | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
    else if (name.charCodeAt(3) === DASH && name.slice(0, 3).toLowerCase() === "mcp") {
      const lower = name.toLowerCase();
      seen ??= new Set();
      if (seen.has(lower)) throw repeated(lower);
      seen.add(lower);
    }
  }
  if (hosts !== 1)
    throw new GatewayError("bad_request", "downstream", "there must be exactly one Host header");
  if (authorizations > 1)
    throw new GatewayError("bad_request", "downstream", "there are several Authorization headers");
}

const DASH = 45;

/** A target with an authority of its own would say twice who is meant. */
function checkTarget({ url = "" }: IncomingMessage): void {
  if (!url.startsWith("/"))
    throw new GatewayError("bad_request", "downstream", "the request target must be a path");
}

function checkOrigin({ headers }: IncomingMessage, names: AllowedNames): void {
  if (headers.origin !== undefined && !names.origin(headers.origin)) {
    throw forbidden("this Origin is not allowed here");
  }
}

const forbidden = (message: string): GatewayError => new GatewayError("forbidden", "downstream", message);

const repeated = (name: string): GatewayError =>
  new GatewayError("bad_request", "downstream", `Header mismatch: the ${name} header is repeated`, {
    rpc: CODE.headerMismatch,
  });
