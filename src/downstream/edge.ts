/** What the listeners hand to an era (a parsed message and where its response goes), and what both eras have in common. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../core/client.js";
import { GatewayError, refusalError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import type { Batch, Envelope, RpcError } from "../wire/envelope.js";
import { CODE } from "../wire/names.js";

/** The path to which hosts of the 2024-11-05 transport POST, with the id of their session in the query. */
export const MESSAGES_PATH = "/messages";

/** One HTTP request that passed the listener's checks (host, origin, size, content type, credentials). */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly endpoint: string;
  /** The `WWW-Authenticate` header of a 403 to a token that lacks these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

/** A POST: the exchange and the body, parsed once. */
export interface HttpPost extends HttpExchange {
  readonly message: Envelope | Batch;
}

/** How many event streams may be open at once. */
export interface StreamQuota {
  /**
   * Counts one stream; call the returned function when the stream is closed.
   * @throws GatewayError `overloaded`
   */
  acquire(principal: Principal): () => void;
}

/** No limit: for streams that take no connection of their own. */
export const UNLIMITED_STREAMS: StreamQuota = { acquire: () => () => {} };

/** One era's way of serving HTTP. The listener answers what a method throws with a JSON-RPC error. */
export interface HttpEdge {
  post(post: HttpPost): void | Promise<void>;
  /** GET and DELETE exist in the legacy era only. */
  get?(exchange: HttpExchange): void | Promise<void>;
  delete?(exchange: HttpExchange): void | Promise<void>;
  /**
   * Ends every stream gracefully, as its era does. Calls in flight may go on for `graceMs` (default 0); in the legacy era,
   * where a lost connection does not cancel a call, nothing else ends them.
   */
  close(graceMs?: number): Promise<void>;
}

/** A host at the other end of a pipe: one principal, one message per line. */
export interface Pipe {
  readonly principal: Principal;
  readonly endpoint: string;
  /** True where the host spawned this process, and takes it for the server behind it. */
  readonly isSpawnedByHost?: boolean;
  /** Writes one message; the text must be a single JSON document without line breaks. */
  send(text: string | Buffer): void;
}

/** One era's way of serving a pipe. */
export interface PipeEdge {
  /** Serves one message. For a request the promise resolves when the response was sent. */
  receive(message: Envelope): void | Promise<void>;
  /** Serves a batch, which exists in the legacy era only. Resolves like `receive`. */
  receiveBatch?(batch: Batch): void | Promise<void>;
  /** The principal of the pipe sent other credentials, which may grant more or less. */
  updatePrincipal?(principal: Principal): void;
  /** The host will send nothing more, but may still read: open questions get no answer. */
  onInputEnd?(): void;
  /** The pipe is gone or the gateway stops. */
  close(): Promise<void>;
}

/** The error for a fault of the gateway itself, which says nothing about the cause. */
export const GATEWAY_FAULT: RpcError = {
  code: CODE.internalError,
  message: "the gateway failed on this request; its log says why",
};

/** The error that answers a request which failed at an edge; what is no refusal is a fault, and is logged. */
export function edgeError(error: unknown, method: string, logger: Logger): RpcError {
  if (error instanceof GatewayError) return refusalError(error);
  logger.error({ error, method }, "a request failed at the edge");
  return GATEWAY_FAULT;
}
