/** Where the messages for a client go: the place of one request, and the place of everything else. */
import type { StopSignal } from "../../core/stop.js";
import type { Text } from "./text.js";

/** A way to say something to a client that is not the answer to a request. */
export interface Outlet {
  /** False when nothing can be said here any more, because nobody would ever read it. */
  say(text: Text): boolean;
}

/** The place of one request: what is said before its response, and the response. */
export interface Place extends Outlet {
  /**
   * The response. Nothing is said after it. `scopes` are what a token must grant for another response: over HTTP
   * that is a refusal with a status of its own.
   */
  reply(text: Text, scopes?: readonly string[]): void;
  /** No response will come, because the client has cancelled the request. */
  withdraw(): void;
}

/** The place of what belongs to no request: the GET streams of a session, or its pipe. */
export interface General extends Outlet {
  /** Whether somebody listens now; what is said otherwise may have to wait. */
  readonly isHeard: boolean;
  /** Resolves to true once somebody listens, to false after `waitMs` without anybody or when `signal` aborts. */
  listening(waitMs: number, signal: StopSignal): Promise<boolean>;
  /** The client is ready to hear more than answers; a pipe cannot tell otherwise. */
  begin?(): void;
  /** Ends everything that is open. */
  close(): void;
}
