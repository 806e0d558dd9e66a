/** Serves one modern request, from reading it to its response; the transports differ only in the response sink. */
import type { IncomingHttpHeaders } from "node:http";
import { type Call, NOT_CACHEABLE, type Notice, type Reply } from "../../core/call.js";
import { GatewayError, refusalError, unknownMethod } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Logger } from "../../core/logger.js";
import type { Request } from "../../wire/envelope.js";
import { without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { OWN_META } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { edgeError } from "../edge.js";
import type { ResponseSink } from "./event-stream.js";
import { checkExtension, EDGE_METHODS, EXTENSION_OF, REMOVED_METHODS } from "./methods.js";
import { readCall } from "./read-call.js";
import { ClientCache, type Sender, SUPPORTED_VERSIONS } from "./read-meta.js";
import type { RecentClients } from "./recent-clients.js";
import type { OpenSubscriptions } from "./subscriptions.js";
import { type WriteReply, writeError } from "./write-reply.js";

interface RequestSource extends Sender {
  /** Absent on a pipe. */
  readonly headers?: IncomingHttpHeaders | undefined;
  /** See `Pipe`. */
  readonly isSpawnedByHost?: boolean | undefined;
}

/** Serves one request and answers it on `sink`; never rejects. */
export type ServeRequest = (
  request: Request,
  source: RequestSource,
  sink: ResponseSink,
  subscriptions: OpenSubscriptions,
) => Promise<void>;

/** Makes the function that serves the requests of one edge, over HTTP and over pipes. */
export function requestServer(
  gateway: GatewayApi,
  writeReply: WriteReply,
  recentClients: RecentClients,
  logger: Logger,
): ServeRequest {
  const clients = new ClientCache(recentClients);

  return async function serveRequest(request, source, sink, subscriptions) {
    const { id } = request;
    try {
      const { principal, endpoint, headers } = source;
      const context = { principal, endpoint, headers, signal: sink.signal, notify: notifierOf(sink) };
      const call = readCall(request, context, gateway, clients);
      if (call.method === EDGE_METHODS.listen) await subscriptions.open(request, call, sink);
      else sink.respond(writeReply(id, call, await replyTo(call, source)));
    } catch (error) {
      const rpc = edgeError(error, request.method, logger);
      if (!(error instanceof GatewayError)) return sink.respond(writeError(id, rpc));
      const { retryAfterMs } = error.options;
      sink.respond({ ...writeError(id, rpc, error.code), retryAfterMs });
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

/** The reply to `server/discover` for the client of `call` (spec 2026-07-28: server/discover). */
async function discover(call: Call, gateway: Pick<GatewayApi, "describe">): Promise<Reply> {
  const { capabilities, instructions, instance } = await gateway.describe(call.client);
  return {
    kind: "result",
    result: Payload.ofObject({
      supportedVersions: SUPPORTED_VERSIONS,
      // Tasks are an extension in this era, and must not be advertised in the old way as well (SEP-2663).
      capabilities: without(capabilities, ["tasks"]),
      ...(instructions !== undefined && { instructions }),
      ...(instance !== undefined && { _meta: { [OWN_META.instance]: instance } }),
    }),
    // Capabilities depend on the servers, on access rules and on what the client declared.
    freshness: NOT_CACHEABLE,
  };
}

function notFound(method: string): Reply {
  const error = unknownMethod(method);
  return { kind: "error", error: refusalError(error), refusal: error.code };
}

const notifierOf =
  (sink: ResponseSink) =>
  ({ method, params }: Notice): void =>
    sink.send(writeJson({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) }));
