/** Which GatewayError does a failed HTTP request become, and what does it tell the operator? */
import { GatewayError } from "../../core/errors.js";
import { explainNetworkError } from "../../outgoing/network-errors.js";
import { ProxyError } from "../../outgoing/proxy.js";
import { ContentEncodingError } from "../../runtime/decompression.js";
import { HttpStatusError } from "./channel.js";
import type { HttpTarget } from "./http-target.js";
import { headerOf, type ResponseHeaders, retryAfter, singleValued } from "./message-bodies.js";
import { quotedWords } from "./server-words.js";
import { describeUnauthorized } from "./unauthorized.js";

const BODY_EXCERPT_BYTES = 4096;

/** The error of a connection that failed before the request (`sent` is false) or before the response. */
export function connectionError(target: HttpTarget, cause: Error, sent: boolean): GatewayError {
  const { name: server, host } = target;
  // The request was not sent for lack of credentials, or was refused for them.
  if (cause instanceof GatewayError) return cause;
  if ("code" in cause && cause.code === "UND_ERR_INVALID_ARG") {
    const what = `the request to ${server} cannot be sent: ${cause.message}`;
    return new GatewayError("bad_request", "gateway", what, { cause, server });
  }
  if (cause instanceof ContentEncodingError && cause.kind !== "invalid") {
    const code = cause.kind === "excessive" ? "too_large" : "upstream_closed";
    const what = `${server} gave no usable answer: ${cause.message}`;
    return new GatewayError(code, "upstream", what, { cause, server, answered: true });
  }
  const isPlain = !("code" in cause) && cause.cause === undefined;
  const why = isPlain || cause instanceof ProxyError ? cause.message : explainNetworkError(cause);
  return sent
    ? new GatewayError("upstream_closed", "upstream", `${server} gave no answer: ${why} (${host})`, {
        cause,
        server,
        retryable: true,
      })
    : new GatewayError("upstream_unavailable", "upstream", `${server} cannot be reached: ${why} (${host})`, {
        cause,
        server,
        retryable: true,
      });
}

/** An HTTP response that is no response to the request. */
interface ErrorResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body?: Buffer | undefined;
  /** True when the request named a session: a 404 then means that the session has ended. */
  readonly inSession: boolean;
  /** What is wrong with the response; default: what its status means. */
  readonly what?: string | undefined;
}

/**
 * The error of an HTTP response that answers no request, with the words of its body: `upstream_rejected` when the server rejected this one request,
 * else `upstream_unavailable`.
 */
export function statusError(target: HttpTarget, answered: ErrorResponse): GatewayError {
  const { status, headers, body = NO_BODY, what = describeStatus(target, status, headers) } = answered;
  const cause = new HttpStatusError(
    status,
    body.toString("utf8", 0, BODY_EXCERPT_BYTES),
    singleValued(headers),
  );
  const sentence = `${target.name} ${what}${quotedWords(headers, body, target.redact)}`;
  const server = target.name;
  if (isRejection(answered)) {
    return new GatewayError("upstream_rejected", "upstream", sentence, { cause, server, answered: true });
  }
  const retryAfterMs = retryAfter(headers);
  return new GatewayError("upstream_unavailable", "upstream", sentence, {
    cause,
    server,
    // Both mean that the request was not processed; other errors do not say.
    retryable: status === 429 || status === 503,
    answered: status < 500 && status !== 408,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/**
 * A status below 500 concerns this request, except those of credentials, an ended session, timeouts and overload, which
 * concern every request.
 */
const isRejection = ({ status, inSession }: ErrorResponse): boolean =>
  status < 500 && !(status === 401 || status === 408 || status === 429 || (status === 404 && inSession));

const NO_BODY = Buffer.alloc(0);

function describeStatus(target: HttpTarget, status: number, headers: ResponseHeaders): string {
  if (status >= 300 && status < 400)
    return `redirects elsewhere${describeRedirect(target, headerOf(headers, "location"))}`;
  switch (status) {
    case 401:
      return target.credentials?.areUsed === true
        ? "answered 401 Unauthorized: it needs credentials, or different ones"
        : describeUnauthorized(headerOf(headers, "www-authenticate"), target.hasOwnCredentials);
    case 403:
      return "answered 403 Forbidden: its credentials do not allow this";
    case 404:
      return `answered 404 Not Found: nothing is at ${target.host}${target.url.pathname}, or its session has ended`;
    case 429:
      return "answered 429 Too Many Requests: its rate limit is reached";
    case 503:
      return "answered 503 Service Unavailable: it accepts no requests now";
    default:
      return `answered with HTTP status ${status}`;
  }
}

function describeRedirect(target: HttpTarget, location: string | undefined): string {
  if (location === undefined || !URL.canParse(location, target.url.href)) return "";
  const { origin, pathname } = new URL(location, target.url);
  return `, to ${origin}${pathname}, and is not followed there; if that is right, write it in the config`;
}
