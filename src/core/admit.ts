/** Whether an HTTP request may be looked at at all, on whichever listener it came, judged by its head alone. */
import type { IncomingMessage } from "node:http";
import { CODE } from "../wire/names.js";
import { GatewayError } from "./errors.js";
import { cannotBeRebound, type FrontDoor, isOwnOrigin } from "./front-door.js";

/**
 * Checks what every request of a host must be sure of: who is meant (Host) and on whose behalf (Origin).
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function admit(request: IncomingMessage, door: FrontDoor): void {
  checkHead(request);
  if (!door.host(request.headers.host ?? "")) throw strangeHost();
  const { origin } = request.headers;
  if (origin !== undefined && !door.origin(origin)) throw strangeOrigin();
}

/**
 * The same for operators and the probes of orchestrators. They name the address they found us at, and that is as good
 * as an allowed name, because nobody can rebind it; and the console's own page may ask what it shows.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function admitOperator(request: IncomingMessage, door: FrontDoor): void {
  checkHead(request);
  const { host = "", origin } = request.headers;
  if (!door.host(host) && !cannotBeRebound(host)) throw strangeHost();
  if (origin !== undefined && !door.origin(origin) && !isOwnOrigin(origin, host)) {
    throw strangeOrigin();
  }
}

function checkHead({ rawHeaders, url = "" }: IncomingMessage): void {
  checkOnce(rawHeaders);
  // A target with an authority of its own would say twice who is meant.
  if (!url.startsWith("/")) throw badRequest("the request target must be a path");
}

/**
 * Host, Authorization and the `Mcp-*` headers must stand there once: Node takes the first of the one kind and
 * joins those of the other, while whoever stands in front may have judged by another one of them.
 */
function checkOnce(rawHeaders: readonly string[]): void {
  let hosts = 0;
  let authorizations = 0;
  const own: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
    else if (name.charCodeAt(3) === DASH) {
      const lower = name.toLowerCase();
      if (lower.startsWith("mcp-")) own.push(lower);
    }
  }
  const twice = own.length > FEW ? duplicateOfMany(own) : own.find((name, at) => own.indexOf(name) < at);
  if (twice !== undefined) throw repeated(twice);
  if (hosts !== 1) throw badRequest("there must be exactly one Host header");
  if (authorizations > 1) throw badRequest("there are several Authorization headers");
}

const DASH = 45;
/** So many names are compared with each other sooner than a set is made of them. */
const FEW = 8;

function duplicateOfMany(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

const forbidden = (message: string): GatewayError => new GatewayError("forbidden", "downstream", message);
const strangeHost = (): GatewayError =>
  forbidden("this Host is not allowed here; listen.http.allowedHosts names those that are");
const strangeOrigin = (): GatewayError =>
  forbidden("this Origin is not allowed here; listen.http.allowedOrigins names those that are");
const badRequest = (message: string): GatewayError => new GatewayError("bad_request", "downstream", message);

const repeated = (name: string): GatewayError =>
  new GatewayError("bad_request", "downstream", `Header mismatch: the ${name} header is repeated`, {
    rpc: CODE.headerMismatch,
  });
