/** Where the messages of one request go: its own HTTP response, or a pipe that many requests share. */
import type { StopSignal } from "../../core/stop.js";
import type { SerializedResponse } from "./write-reply.js";

/** Receives the messages of one request. */
export interface ResponseSink {
  /** Aborted when the client gives up on the request before its answer. */
  readonly signal: StopSignal;
  /** Sends one message before the answer; what comes after the answer is dropped. */
  send(message: string): void;
  /** Sends the answer, and nothing after it. */
  respond(response: SerializedResponse): void;
}
