/**
 * The transport of 2024-11-05: a GET opens an event stream, and its first event says where to POST. The stream is
 * a pipe with a host at its other end, and the session lasts as long as the stream.
 */
import { randomUUID } from "node:crypto";
import { badRequest, overloaded, refusalError } from "../../core/errors.js";
import { type Logger, SILENT } from "../../core/logger.js";
import { withIssuer } from "../../core/owners.js";
import { isSamePrincipal } from "../../core/principal.js";
import { withTimeout } from "../../core/stop.js";
import { type Batch, type Envelope, isBatch } from "../../wire/envelope.js";
import { eventPieces, formatEvent } from "../../wire/sse.js";
import {
  type HttpEdge,
  type HttpExchange,
  type HttpPost,
  MESSAGES_PATH,
  type PipeEdge,
  type StreamQuota,
  UNLIMITED_STREAMS,
} from "../edge.js";
import type { LegacyEdge } from "./edge.js";
import { SseConnection } from "./event-stream.js";
import { errorText, respondJson } from "./messages.js";

/** Limits and dependencies of the 2024-11-05 transport. */
export interface HttpSseOptions {
  readonly edge: Pick<LegacyEdge, "pipe">;
  /** A comment is written to an idle stream this often, in ms. */
  readonly keepAliveMs: number;
  /** Streams that may be open at once. Default 1000. */
  readonly maxStreams?: number;
  /** Where they must find room, together with other streams. Default: room for all. */
  readonly streamQuota?: StreamQuota;
  /** This process, where there are others. */
  readonly issuer?: string;
  readonly logger?: Logger;
  readonly hooks?: { opened?(): void; closed?(): void };
}

interface Stream {
  readonly exchange: HttpExchange;
  readonly connection: SseConnection;
  readonly pipe: PipeEdge;
}

/** An edge whose `get` serves `GET /sse` and whose `post` serves `POST /messages`. */
export function createHttpSse(options: HttpSseOptions): HttpEdge & { get(exchange: HttpExchange): void } {
  const { edge, logger = SILENT, hooks = {}, issuer, maxStreams = 1000 } = options;
  const { streamQuota = UNLIMITED_STREAMS } = options;
  const limits = { keepAliveMs: options.keepAliveMs, maxWaitingBytes: 1024 * 1024, stallMs: 30_000 };
  const streams = new Map<string, Stream>();
  const inFlight = new Set<Promise<void>>();
  let closing = false;
  return { get, post, close };

  function get(exchange: HttpExchange): void {
    if (closing || streams.size >= maxStreams) {
      throw overloaded("too many open streams");
    }
    exchange.response.once("close", streamQuota.acquire(exchange.principal));
    const id = withIssuer(issuer, randomUUID());
    const connection = new SseConnection(exchange.response, limits, () => end(id));
    const pipe = edge.pipe({
      principal: exchange.principal,
      endpoint: exchange.endpoint,
      isHttp: true,
      backlog: connection,
      send: (text) =>
        connection.write(
          typeof text === "string"
            ? formatEvent({ event: "message", data: text })
            : eventPieces({ event: "message" }, [text]),
        ),
    });
    hooks.opened?.();
    streams.set(id, { exchange, connection, pipe });
    connection.write(formatEvent({ event: "endpoint", data: `${MESSAGES_PATH}?sessionId=${id}` }));
    if (!connection.isOpen) end(id);
  }

  function post(post: HttpPost): void {
    const stream = streams.get(sessionIdOf(post));
    const own =
      stream !== undefined &&
      isSamePrincipal(stream.exchange.principal, post.principal) &&
      stream.exchange.endpoint === post.endpoint;
    if (stream === undefined || !own) {
      const error = badRequest("there is no such stream (any more)");
      respondJson(post.response, 404, errorText(undefined, refusalError(error)));
      return;
    }
    stream.pipe.updatePrincipal?.(post.principal);
    // The answer comes on the stream, so the POST is done at once.
    post.response.writeHead(202).end();
    const served = receive(stream.pipe, post.message)
      .catch((error: unknown) => logger.error({ error }, "a message failed: internal error"))
      .finally(() => inFlight.delete(served));
    inFlight.add(served);
  }

  async function close(graceMs = 0): Promise<void> {
    closing = true;
    await withTimeout(graceMs, Promise.all(inFlight));
    for (const { connection } of [...streams.values()]) connection.end();
  }

  function end(id: string): void {
    const stream = streams.get(id);
    if (!streams.delete(id) || stream === undefined) return;
    hooks.closed?.();
    stream.pipe.close().catch((error: unknown) => logger.error({ error }, "a session did not end cleanly"));
  }
}

async function receive(pipe: PipeEdge, message: Envelope | Batch): Promise<void> {
  if (isBatch(message)) await pipe.receiveBatch?.(message);
  else await pipe.receive(message);
}

function sessionIdOf({ request }: HttpPost): string {
  const url = request.url ?? "";
  return new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("sessionId") ?? "";
}
