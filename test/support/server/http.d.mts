import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Codec } from "../host/wires.mjs";

export interface Arrived {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  /** Of a legacy host: `say` sends on its own stream. */
  readonly session?: { readonly say: (message: object) => void } | undefined;
}

export type Answer = (message: never, say: (message: object) => void, arrived: Arrived) => unknown;

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

export function serveHttp(
  answer: Answer,
  options?: {
    readonly sse?: boolean;
    readonly sessions?: boolean;
    readonly port?: number;
    readonly host?: string;
    readonly codec?: Required<Codec>;
    readonly intercept?: (
      request: IncomingMessage,
      response: ServerResponse,
      message: unknown,
    ) => boolean | Promise<boolean>;
  },
): Promise<HttpServer>;

export function serveSse(answer: Answer): Promise<HttpServer>;
