/** How messages are exchanged with one server: the interface of the transports (Streamable HTTP, HTTP+SSE, stdio). */

import type { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { Envelope, Notification, Request } from "../../wire/envelope.js";

/** HTTP headers by name. */
export type Headers = Readonly<Record<string, string>>;

/** Options of one request. */
export interface ExchangeOptions {
  /** HTTP headers of this request; ignored on a pipe. */
  readonly headers?: Headers;
  /** Aborts locally: closes the response stream and forgets the id. The era notifies the server. */
  readonly signal?: StopSignal;
  /**
   * Receives each message on the request's own HTTP response stream before the response. Never called on a pipe,
   * where messages do not belong to a request; see `Channel.listen`.
   */
  readonly onMessage?: (message: Envelope) => void;
  /**
   * Notified synchronously of the response on a pipe: the promise resolves later, after the messages right behind
   * the response were delivered.
   */
  readonly responseObserver?: ResponseObserver | undefined;
}

/** Notified when the response of one request arrives. */
export interface ResponseObserver {
  /** Must not throw. */
  onResponse(): void;
}

/** A response with its HTTP status and headers. */
export interface ChannelResponse {
  /** The response; its id is the id of the request. */
  readonly message: Envelope;
  /** Its HTTP status; 200 on a pipe. */
  readonly status: number;
  /** An HTTP response header, by its name in lower case. */
  header(name: string): string | undefined;
}

/**
 * The server answered a POST with something that is not a response to it. Thrown as the `cause` of the
 * GatewayError that `exchange` rejects with, so that an era can read the status (404: session gone).
 */
export class HttpStatusError extends Error {
  override readonly name = "HttpStatusError";
  constructor(
    readonly status: number,
    /** The first 4 KiB of the body. */
    readonly body: string,
    readonly headers: Headers,
  ) {
    super(`HTTP status ${status}`);
  }
}

/** A connection to one server. */
export interface Channel {
  /** `stream`: messages of a request arrive on its own response stream. `pipe`: all messages arrive on one stream. */
  readonly association: "stream" | "pipe";
  /** The latest stderr output of the server process; absent without a process. */
  readonly stderr?: string;
  /**
   * Sends a request and resolves to its response, an error response included.
   * @throws GatewayError `upstream_unavailable` (never sent: retryable), `upstream_closed` (sent, and the
   * stream or process ended before the response), `cancelled` (the signal).
   */
  exchange(request: Request, options?: ExchangeOptions): Promise<ChannelResponse>;
  /** Sends a notification, or the response to a server's request. */
  post(message: Notification | Envelope, options?: { readonly headers?: Headers }): Promise<void>;
  /**
   * Receives messages of no exchange: on HTTP from the GET event stream (reopened when it drops, resumed by
   * `Last-Event-ID`, with the server's `retry`), on a pipe all messages that are not responses.
   * `opened` is false when the server offers no such stream (405); `stop` ends it. `onLost` is called when an open
   * stream dropped and the server refuses to open it again (404: the session is gone); `onMissed`, when it was
   * reopened without resuming, so that messages may be lost.
   */
  listen(
    onMessage: (message: Envelope) => void,
    options?: {
      readonly headers?: Headers;
      readonly onLost?: (reason: GatewayError) => void;
      readonly onMissed?: () => void;
    },
  ): { readonly opened: Promise<boolean>; stop(): void };
  /**
   * Calls `onMessage` when DNS resolves the server's name to other addresses: long-lived streams should be reopened, at
   * the new address. The returned function stops the watch. Absent without a name, or where the channel reopens them
   * itself.
   */
  onAddressChange?(onMessage: () => void): () => void;
  /** Resolves when the channel can carry nothing more, with the reason; never rejects. HTTP channels stay open. */
  readonly closed: Promise<GatewayError>;
  /** Ends everything it owns (process, sockets, streams). With `sessionEnd`, on HTTP, a DELETE is sent first. */
  close(sessionEnd?: { readonly headers: Headers }): Promise<void>;
}

/** Callbacks for what a server sent and the gateway cannot use; it is logged and counted, then dropped. */
export interface UnmatchedHandlers {
  /** Output that is no message, with its beginning on one line. */
  readonly onNonProtocolOutput?: (excerpt: string) => void;
  /**
   * A message without a receiver (a response to no request in flight, or any message without a listener); or, with the
   * error, a message whose listener threw.
   */
  readonly onUnmatchedMessage?: (message: Envelope, error?: unknown) => void;
}

/** Calls `onMessage`; an exception is reported to `onUnmatchedMessage`, so that no message can end the gateway. */
export function deliverSafely(
  onMessage: (message: Envelope) => void,
  message: Envelope,
  unmatched: UnmatchedHandlers,
): void {
  try {
    onMessage(message);
  } catch (error) {
    unmatched.onUnmatchedMessage?.(message, error);
  }
}
