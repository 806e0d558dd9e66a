/** Serves one modern pipe: its requests run concurrently, and `notifications/cancelled` cancels one. */
import { paramsFault } from "../../core/check-params.js";
import { GatewayError, refusalError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import {
  type Envelope,
  isMessageId,
  isNotification,
  isRequest,
  type MessageId,
  type Request,
} from "../../wire/envelope.js";
import { lineOf, oneLine } from "../../wire/lines.js";
import type { Pipe, PipeEdge } from "../edge.js";
import { duplicateId, InFlight, tooManyInFlight } from "../in-flight.js";
import type { OpenSubscriptions } from "./open-subscriptions.js";
import type { ResponseSink } from "./response-sink.js";
import type { ServeRequest } from "./serve-request.js";
import { type SerializedResponse, writeError } from "./write-reply.js";

/** @param subscriptions those of this pipe alone */
export function pipeEdge(pipe: Pipe, serve: ServeRequest, subscriptions: OpenSubscriptions): PipeEdge {
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
