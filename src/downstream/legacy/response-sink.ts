/** Where the messages for a client go: the place of one request, and the place of everything else. */
import type { StopSignal } from "../../core/stop.js";
import type { MessageText } from "./message-text.js";

/** A way to say something to a client that is not the answer to a request. */
export interface MessageSink {
  /** False when nothing can be said here any more, because nobody would ever read it. */
  send(text: MessageText): boolean;
}

/** The place of one request: what is said before its response, and the response. */
export interface ResponseSink extends MessageSink {
  /**
   * The response. Nothing is said after it. `scopes` are what a token must grant for another response: over HTTP
   * that is a refusal with a status of its own.
   */
  respond(text: MessageText, scopes?: readonly string[]): void;
  /** No response will come, because the client has cancelled the request. */
  skipResponse(): void;
}

/** The place of what belongs to no request: the GET streams of a session, or its pipe. */
export interface SessionSink extends MessageSink {
  /** Whether somebody listens now; what is said otherwise may have to wait. */
  readonly isConnected: boolean;
  /** Resolves to true once somebody listens, to false after `waitMs` without anybody or when `signal` aborts. */
  waitUntilConnected(waitMs: number, signal: StopSignal): Promise<boolean>;
  /** The client is ready to hear more than answers; a pipe cannot tell otherwise. */
  markReady?(): void;
  /** Ends everything that is open. */
  close(): void;
}
