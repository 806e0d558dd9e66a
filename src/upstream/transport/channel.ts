/** A way to exchange messages with one server; HTTP and stdio provide it, the eras are written against it. */

import type { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { Envelope, Notification, Request } from "../../wire/envelope.js";

export type Headers = Readonly<Record<string, string>>;

export interface ExchangeOptions {
  /** HTTP request headers of this one request; a pipe has none. */
  readonly headers?: Headers;
  /** Gives up locally: closes the response stream, forgets the id. Telling the server is the era's affair. */
  readonly signal?: StopSignal;
  /**
   * Hears every message that came with this request before its response: on HTTP, what stood on its own
   * stream. On a pipe nothing can be told apart, so there it is never called; see `Channel.listen`.
   */
  readonly onMessage?: (message: Envelope) => void;
  /**
   * Told at once that the response has come, where messages come mixed: the promise resolves later, and by then the
   * messages that came right behind the response were heard.
   */
  readonly responseObserver?: ResponseObserver | undefined;
}

export interface ResponseObserver {
  /** Must not throw. */
  onResponse(): void;
}

export interface ChannelResponse {
  /** The response; its id is the id of the request. */
  readonly message: Envelope;
  /** The HTTP status it came with; 200 on a pipe. */
  readonly status: number;
  /** An HTTP response header, by its name in lower case. */
  header(name: string): string | undefined;
}

/**
 * The server answered a POST with something that is not a response to it. Thrown as the `cause` of the
 * GatewayError that `exchange` rejects with, so that an era can look at the status (404: session gone).
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

export interface Channel {
  /** `stream`: messages that belong to a request come on that request's own stream. `pipe`: all come mixed. */
  readonly association: "stream" | "pipe";
  /** What the process behind it wrote to stderr most recently; absent where there is no process. */
  readonly stderr?: string;
  /**
   * Sends a request and resolves to its response, an error response included.
   * @throws GatewayError `upstream_unavailable` (never sent: retryable), `upstream_closed` (sent, and the
   * stream or process ended before the response), `cancelled` (the signal).
   */
  exchange(request: Request, options?: ExchangeOptions): Promise<ChannelResponse>;
  /** Sends a notification, or the answer to a server's request. */
  post(message: Notification | Envelope, options?: { readonly headers?: Headers }): Promise<void>;
  /**
   * Hears what belongs to no exchange: on HTTP opens the GET event stream (and opens it again when it drops,
   * resuming by `Last-Event-ID` and obeying `retry`), on a pipe everything that is not a response.
   * Resolves to false when the server offers no such stream (405). Call `stop` to end it. `onLost` is told when a
   * stream that had been open cannot be opened again, because the server refuses (404: the session is gone);
   * `onMissed`, when one was opened again that cannot be resumed, so that something may have been said unheard.
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
   * Calls `onMessage` when the name of the server has come to stand for another address: what has no end of its own, such as
   * a stream of changes, had better be begun anew, which leads there. Call the returned function to stop. Absent where
   * there is no name, or where the channel sees to it itself.
   */
  onAddressChange?(onMessage: () => void): () => void;
  /** Resolves when the channel can carry nothing more, with the reason; never rejects. HTTP channels stay open. */
  readonly closed: Promise<GatewayError>;
  /** Ends everything it owns (process, sockets, streams). With `sessionEnd`, on HTTP, a DELETE is sent first. */
  close(sessionEnd?: { readonly headers: Headers }): Promise<void>;
}
