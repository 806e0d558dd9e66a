/** What the listeners hand to an era: a parsed message and the place where its answer goes. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../core/client.js";
import type { Batch, Envelope } from "../wire/envelope.js";

/** Where hosts of the 2024-11-05 transport POST to, with their session in the query. */
export const MESSAGES_PATH = "/messages";

/** One HTTP request that passed the listener's checks (host, origin, size, content type, credentials). */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly endpoint: string;
  /** The `WWW-Authenticate` of an answer (403) to a token that lacks these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

/** A POST: the exchange and the body, parsed once. */
export interface HttpPost extends HttpExchange {
  readonly message: Envelope | Batch;
}

/** Where an event stream that a host opens must find room. */
export interface StreamQuota {
  /**
   * Takes a place for one stream; call the returned function when the stream is over.
   * @throws GatewayError `overloaded`
   */
  acquire(principal: Principal): () => void;
}

/** Room without end; where a stream costs nobody a connection. */
export const UNLIMITED_STREAMS: StreamQuota = { acquire: () => () => {} };

/** One era's way of serving HTTP. A method that throws is answered by the listener with a JSON-RPC error. */
export interface HttpEdge {
  post(post: HttpPost): void | Promise<void>;
  /** GET and DELETE exist in the legacy era only. */
  get?(exchange: HttpExchange): void | Promise<void>;
  delete?(exchange: HttpExchange): void | Promise<void>;
  /**
   * Ends every stream gracefully, as its era does. Calls in flight may go on for `graceMs` (default 0); where a
   * lost connection is no cancel, that is the only end they have.
   */
  close(graceMs?: number): Promise<void>;
}

/** A host at the other end of a pipe: one principal, one message per line. */
export interface Pipe {
  readonly principal: Principal;
  readonly endpoint: string;
  /** True where the host started this process, and takes it for the server behind it. */
  readonly isSpawnedByHost?: boolean;
  /** Writes one message; the text must be a single JSON document without line breaks. */
  send(text: string | Buffer): void;
}

/** One era's way of serving a pipe. */
export interface PipeEdge {
  /** Takes one message. Where it returns a promise for a request, that resolves when the answer was sent. */
  receive(message: Envelope): void | Promise<void>;
  /** A batch; only the legacy era has any. Resolves like `receive`. */
  receiveBatch?(batch: Batch): void | Promise<void>;
  /** The pipe's principal came with other credentials, which may grant more or less. */
  updatePrincipal?(principal: Principal): void;
  /** The host will send nothing more, but may still read: what it was asked it cannot answer. */
  onInputEnd?(): void;
  /** The pipe is gone or the gateway stops. */
  close(): Promise<void>;
}
