import type { Agent, AgentOptions, ClientRequest, IncomingHttpHeaders } from "node:http";
import type { Readable, Writable } from "node:stream";

export type Json = { readonly [key: string]: unknown };

export interface SendOptions {
  /** Gets what comes before the response: on HTTP the messages of its stream, on a pipe all messages meanwhile. */
  readonly onMessage?: ((message: Json) => void) | undefined;
  /** Ends the wait for the response; on HTTP the connection, too. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Gets the HTTP request when it has been written. */
  readonly onRequest?: (request: ClientRequest) => void;
}

/** Everything that came of a request. */
export interface Exchange {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body, where it was no event stream. */
  readonly text: string;
  readonly messages: readonly Json[];
  /** The response, where one came. */
  readonly message: Json | undefined;
  /** How many responses came. */
  readonly answers: number;
  readonly ms: number;
}

export interface StreamOptions extends SendOptions {
  readonly onEnd?: () => void;
}

export interface OpenStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body of a refusal, where there is no stream. */
  readonly refusal?: Promise<string>;
  stop(): Promise<void>;
}

export interface Wire {
  readonly onPipe: boolean;
  readonly session?: string | undefined;
  exchange(message: Json, options?: SendOptions): Promise<Exchange>;
  /** Sends a notification or a response. Rejects with `UnexpectedStatus` where HTTP does not accept it. */
  post(message: Json, options?: SendOptions): Promise<void>;
  /** Opens a stream: the GET of a legacy host, or the response to `message`. */
  stream(message?: Json, options?: StreamOptions): Promise<OpenStream>;
  close(): Promise<void>;
}

export interface Codec {
  readonly parse?: (text: string) => unknown;
  readonly stringify?: (message: unknown) => string;
}

export class UnexpectedStatus extends Error {
  readonly status: number;
  readonly body: string;
}

export function isResponse(message: Json): boolean;
export function newAgent(options?: AgentOptions): Agent;
export function httpWire(
  url: string | URL,
  always?: Readonly<Record<string, string>>,
  codec?: Codec & { readonly agent?: Agent | false },
): Wire;
export function pipeWire(
  input: Writable,
  output: Readable,
  codec?: Codec,
): Wire & { readonly junk: readonly string[]; fail(error: Error): void };
