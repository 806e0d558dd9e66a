/** Raw JSON-RPC to a server, without any library that knows MCP: nothing is checked, dropped or added. */
import type { Json } from "./host.js";

export interface SendOptions {
  /** Hears what comes before the response: on HTTP what stood on its stream, on a pipe everything meanwhile. */
  readonly hear?: (message: Json) => void;
  /** Lets go of the answer: on HTTP the connection is dropped, on a pipe nobody waits any more. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Wire {
  /** Sends a request and resolves to its response. */
  request(message: Json, options?: SendOptions): Promise<Json>;
  /** Sends a notification or a response. */
  post(message: Json, options?: SendOptions): Promise<void>;
  /** Hears what belongs to no request: on HTTP by a GET stream, on a pipe all the time. Call the result to stop. */
  listen(hear: (message: Json) => void, options?: SendOptions): Promise<() => void>;
  close(): Promise<void>;
}

export const isResponse = (message: Json): boolean => "result" in message || "error" in message;
