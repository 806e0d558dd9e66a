/** One request from reading to answer. What differs between HTTP and a pipe is in the outlet. */
import type { IncomingHttpHeaders } from "node:http";
import type { Call, Notice, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Logger } from "../../core/logger.js";
import { refusalError, unknownMethod } from "../../core/refusal.js";
import type { Request } from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";
import { CODE } from "../../wire/names.js";
import { discover } from "./discover.js";
import { checkExtension } from "./extensions.js";
import { EDGE_METHODS, EXTENSION_OF, REMOVED_METHODS } from "./methods.js";
import type { OpenSubscriptions } from "./open-subscriptions.js";
import { readCall } from "./read-call.js";
import type { Sender } from "./read-meta.js";
import type { ResponseSink } from "./response-sink.js";
import { type WriteReply, writeError } from "./write-reply.js";

/** Where a request came from. */
interface RequestSource extends Sender {
  /** Absent on a pipe. */
  readonly headers?: IncomingHttpHeaders | undefined;
  /** See `Pipe`. */
  readonly isSpawnedByHost?: boolean | undefined;
}

/** Serves one request through its outlet; never rejects. */
export type Serve = (
  request: Request,
  origin: RequestSource,
  outlet: ResponseSink,
  subscriptions: OpenSubscriptions,
) => Promise<void>;

export function createServe(gateway: GatewayApi, writeReply: WriteReply, logger: Logger): Serve {
  return async function serve(request, origin, sink, subscriptions) {
    const { id } = request;
    try {
      const { principal, endpoint, headers } = origin;
      const context = { principal, endpoint, headers, signal: sink.signal, notify: notifierOf(sink) };
      const call = readCall(request, context, gateway);
      if (call.method === EDGE_METHODS.listen) await subscriptions.open(request, call, sink);
      else sink.respond(writeReply(id, call, await replyTo(call, origin)));
    } catch (error) {
      if (error instanceof GatewayError) {
        const { retryAfterMs } = error.options;
        sink.respond({ ...writeError(id, refusalError(error), error.code), retryAfterMs });
        return;
      }
      logger.error({ method: request.method, error }, "a request failed at the edge");
      sink.respond(
        writeError(id, {
          code: CODE.internalError,
          message: "the gateway failed on this request; its log says why",
        }),
      );
    }
  };

  function replyTo(call: Call, { isSpawnedByHost }: RequestSource): Reply | Promise<Reply> {
    if (call.method === EDGE_METHODS.discover) {
      const connected = isSpawnedByHost === true ? gateway.requireServer?.(call.client) : undefined;
      return connected === undefined
        ? discover(call, gateway)
        : connected.then(() => discover(call, gateway));
    }
    if (REMOVED_METHODS.has(call.method)) return notFound(call.method);
    if (!EXTENSION_OF.has(call.method)) return gateway.handle(call);
    return checkExtension(call, gateway).then(() => gateway.handle(call));
  }
}

function notFound(method: string): Reply {
  const error = unknownMethod(method);
  return { kind: "error", error: refusalError(error), refusal: error.code };
}

const notifierOf =
  (sink: ResponseSink) =>
  ({ method, params }: Notice): void =>
    sink.send(writeJson({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) }));
