/** Where do the messages to a client go: those of one request, and all others? */
import type { StopSignal } from "../../core/stop.js";
import type { MessageText } from "./message-text.js";

/** Sends messages to a client that are no responses. */
export interface MessageSink {
  /** False when the message cannot be sent, because no host would read it. */
  send(text: MessageText): boolean;
}

/** Sends the messages of one request: those before its response, and the response. */
export interface ResponseSink extends MessageSink {
  /**
   * The response. Nothing is said after it. `scopes` are what a token must grant for another response: over HTTP
   * that is a refusal with a status of its own.
   */
  respond(text: MessageText, scopes?: readonly string[]): void;
  /** No response will come, because the client has cancelled the request. */
  skipResponse(): void;
}

/** Sends messages that belong to no request: on the GET streams of a session, or its pipe. */
export interface SessionSink extends MessageSink {
  /** Whether the host is connected; messages to a host that is not may be queued. */
  readonly isConnected: boolean;
  /** Resolves to true once the host is connected, to false after `waitMs` or when `signal` aborts. */
  waitUntilConnected(waitMs: number, signal: StopSignal): Promise<boolean>;
  /** The client is ready for requests and notifications; a pipe has no other sign of it. */
  markReady?(): void;
  /** Ends everything that is open. */
  close(): void;
}
