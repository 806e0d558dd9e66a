/** The edge of revision 2026-07-28, over HTTP and pipes: stateless, every request carries all it needs. */
import { paramsFault } from "../../core/check-params.js";
import { badRequest, GatewayError, refusalError } from "../../core/errors.js";
import { MemoryBudget } from "../../core/fair-share.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { type Logger, SILENT } from "../../core/logger.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { CoarseTimers } from "../../runtime/coarse-timers.js";
import {
  type Envelope,
  isBatch,
  isMessageId,
  isNotification,
  isRequest,
  type MessageId,
  type Request,
} from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { lineOf, oneLine } from "../../wire/lines.js";
import {
  duplicateId,
  type HttpEdge,
  type HttpPost,
  InFlight,
  type Pipe,
  type PipeEdge,
  type StreamQuota,
  tooManyInFlight,
  UNLIMITED_STREAMS,
} from "../edge.js";
import { EventStream, type ResponseSink, type StreamLimits } from "./event-stream.js";
import { EDGE_METHODS } from "./methods.js";
import { RecentClients, type SeenClient } from "./recent-clients.js";
import { requestServer, type ServeRequest } from "./serve-request.js";
import { OpenSubscriptions } from "./subscriptions.js";
import { replyWriter, type SerializedResponse, writeError } from "./write-reply.js";

/** What the modern edge is made of. */
export interface ModernEdgeOptions {
  readonly gateway: GatewayApi;
  /** The gateway's own name and version, which every result carries. */
  readonly gatewayInfo: JsonObject;
  /** Interval of the comments that keep a quiet response stream open, in ms. Default 25 s. */
  readonly keepAliveMs?: number;
  readonly limits?: ModernLimits;
  /** The quota of event streams, for subscriptions over HTTP. Default: unlimited. */
  readonly streamQuota?: StreamQuota;
  /** Limits the memory for the filters of subscriptions. Default: a budget of its own. */
  readonly memoryBudget?: MemoryBudget;
  readonly logger?: Logger;
  /** Called when an event stream opens (1) and when it ends (-1). */
  readonly onStreamCount?: (kind: "response" | "subscription", change: 1 | -1) => void;
}

interface ModernLimits {
  /** The most subscriptions open at once over HTTP, and on each pipe. Default 10,000. */
  readonly subscriptions?: number;
  /** The most resources that one subscription may name. Default 1,000. */
  readonly resourcesEach?: number;
  /** With more than this unread (bytes) a stream is closed. Default 1 MiB. */
  readonly streamBytes?: number;
}

/** Serves modern messages, over HTTP and over pipes. */
export interface ModernEdge extends HttpEdge {
  pipe(pipe: Pipe): PipeEdge;
  /** The hosts that were seen in the last 30 minutes. */
  clients(): readonly SeenClient[];
}

/** Makes the modern edge of one gateway. */
export function createModernEdge(options: ModernEdgeOptions): ModernEdge {
  const { gateway, keepAliveMs = 25_000, limits = {}, logger = SILENT, onStreamCount = () => {} } = options;
  const { streamQuota = UNLIMITED_STREAMS, memoryBudget = new MemoryBudget() } = options;
  const { subscriptions = 10_000, resourcesEach = 1_000, streamBytes = 1024 * 1024 } = limits;
  const writeReply = replyWriter(options.gatewayInfo);
  const recentClients = new RecentClients();
  const serve = requestServer(gateway, writeReply, recentClients, logger);
  const subscriptionsWithin = (quota: StreamQuota): OpenSubscriptions =>
    new OpenSubscriptions(gateway, writeReply, { subscriptions, resourcesEach }, quota, memoryBudget);
  const httpSubscriptions = subscriptionsWithin(streamQuota);
  const timers = new CoarseTimers();
  const limitsOf = (kind: "response" | "subscription"): StreamLimits => ({
    keepAliveMs,
    timers,
    maxUnreadBytes: streamBytes,
    onCount: (change) => onStreamCount(kind, change),
    onTooSlow: () => logger.warn({ kind }, "an event stream was closed: its reader is too slow"),
  });
  const forResponses = limitsOf("response");
  const forSubscriptions = limitsOf("subscription");

  return {
    post: (post) => receive(post),
    close: async () => httpSubscriptions.endAll(),
    clients: () => recentClients.list(),
    pipe: (pipe) => pipeEdge(pipe, serve, subscriptionsWithin(UNLIMITED_STREAMS)),
  };

  /** @throws GatewayError where the message does not exist in this revision. */
  function receive(post: HttpPost): void | Promise<void> {
    const { request, response, message, principal, endpoint, challenge } = post;
    if (isBatch(message)) throw badRequest("this revision has no batches");
    if (isRequest(message)) {
      const listens = message.method === EDGE_METHODS.listen;
      const outlet = new EventStream(response, listens ? forSubscriptions : forResponses, challenge);
      return serve(message, { principal, endpoint, headers: request.headers }, outlet, httpSubscriptions);
    }
    if (!isNotification(message)) throw badRequest("this revision has no responses from clients");
    // No notification is defined that a client of this era sends over HTTP: to cancel, it closes the stream.
    response.writeHead(202).end();
    return undefined;
  }
}

/** @param subscriptions those of this pipe alone */
function pipeEdge(pipe: Pipe, serve: ServeRequest, subscriptions: OpenSubscriptions): PipeEdge {
  const inFlight = new InFlight<PipeResponse>();

  return {
    async receive(message) {
      if (isRequest(message)) await run(message);
      else if (isNotification(message) && message.method === "notifications/cancelled") cancel(message);
      // Clients of this era send no other notification and no response: anything else is dropped.
    },
    async close() {
      subscriptions.endAll();
      for (const sink of inFlight.all()) sink.cancel("the pipe is closed");
    },
  };

  async function run(request: Request): Promise<void> {
    const { id } = request;
    if (inFlight.get(id) !== undefined) return sendError(null, duplicateId(id));
    if (inFlight.isFull) return sendError(id, tooManyInFlight("pipe"));
    const sink = new PipeResponse(id, pipe, () => inFlight.delete(id));
    inFlight.add(sink);
    const { principal, endpoint, isSpawnedByHost } = pipe;
    await serve(request, { principal, endpoint, isSpawnedByHost }, sink, subscriptions);
  }

  function sendError(id: MessageId | null, error: GatewayError): void {
    pipe.send(lineOf(writeError(id, refusalError(error)).pieces));
  }

  function cancel({ method, params }: Envelope): void {
    const id = params?.requestId;
    if (method === undefined || paramsFault(method, params) !== undefined || !isMessageId(id)) return;
    inFlight.get(id)?.cancel("the client cancelled");
  }
}

/** The response to one request on a pipe that other requests share. */
class PipeResponse implements ResponseSink {
  readonly #stop = new Stop();
  #ended = false;

  constructor(
    readonly id: MessageId,
    private readonly pipe: Pipe,
    /** Called once, when nothing more will be sent. */
    private readonly onDone: () => void,
  ) {}

  get signal(): StopSignal {
    return this.#stop.signal;
  }

  send(message: string): void {
    if (!this.#ended) this.pipe.send(oneLine(message));
  }

  respond(response: SerializedResponse): void {
    if (this.#ended) return;
    this.#end();
    this.pipe.send(lineOf(response.pieces));
  }

  /** The client cancelled the request, or is gone: the call is aborted and gets no response. */
  cancel(reason: string): void {
    if (this.#ended) return;
    this.#end();
    this.#stop.abort(new GatewayError("cancelled", "downstream", reason));
  }

  #end(): void {
    this.#ended = true;
    this.onDone();
  }
}
