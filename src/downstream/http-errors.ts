/** What an HTTP request is answered with that reaches no edge, or that an edge gave up on by throwing. */
import type { ServerResponse } from "node:http";
import {
  badRequest,
  ERRORS,
  type ErrorCode,
  GatewayError,
  type GatewayErrorOptions,
  refusalError,
} from "../core/errors.js";
import { FrameError, type MessageId, type RpcError } from "../wire/envelope.js";
import { writeJson } from "../wire/json-text.js";
import { GATEWAY_FAULT } from "./edge.js";

/** A refusal whose HTTP status, or whose headers, say more than its code does. */
export class HttpRefusal extends GatewayError {
  constructor(
    readonly status: number,
    code: ErrorCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    options: GatewayErrorOptions = {},
  ) {
    super(code, "downstream", message, options);
  }
}

/** An HTTP response that carries a JSON-RPC error. */
export interface HttpFailure {
  readonly status: number;
  readonly error: RpcError;
  readonly headers: Readonly<Record<string, string>>;
}

/** The HTTP answer that says `error`; whatever is no refusal is a fault of ours and tells nothing of itself. */
export function httpFailure(error: unknown): HttpFailure {
  if (error instanceof FrameError) {
    return httpFailure(badRequest(error.message, { rpc: error.code }));
  }
  if (!(error instanceof GatewayError)) {
    return { status: 500, error: GATEWAY_FAULT, headers: {} };
  }
  const { retryAfterMs } = error.options;
  if (error instanceof HttpRefusal) {
    return { status: error.status, error: refusalError(error), headers: error.headers };
  }
  return {
    status: ERRORS[error.code].http,
    error: refusalError(error),
    headers: retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
  };
}

/**
 * Answers with a JSON-RPC error, or closes the connection when an answer has begun already. The id is left out
 * where none could be read, as both protocol eras allow.
 */
export function sendFailure(response: ServerResponse, failure: HttpFailure, id?: MessageId): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = writeJson({ jsonrpc: "2.0", ...(id !== undefined && { id }), error: failure.error });
  response.writeHead(failure.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...failure.headers,
  });
  response.end(text);
}
