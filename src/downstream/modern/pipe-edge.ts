/** The modern side of a pipe: requests run side by side, and a notification is what cancels one. */

import { paramsFault } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import { refusalError } from "../../core/refusal.js";
import { type Envelope, isNotification, isRequest, type Request } from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";
import { type IdKey, idKey, idKeyOf } from "../../wire/message-id.js";
import type { Pipe, PipeEdge } from "../edge.js";
import type { OpenSubscriptions } from "./open-subscriptions.js";
import { oneDocument, PipeResponse } from "./pipe-response.js";
import type { Serve } from "./serve.js";
import { writeError } from "./write-reply.js";

/** Requests of one pipe that may be in flight at once, streams of subscriptions among them. */
const MAX_IN_FLIGHT = 1000;

/** @param subscriptions those of this pipe alone */
export function pipeEdge(pipe: Pipe, serve: Serve, subscriptions: OpenSubscriptions): PipeEdge {
  const running = new Map<IdKey, PipeResponse>();

  return {
    async receive(message) {
      if (isRequest(message)) await run(message);
      else if (isNotification(message) && message.method === "notifications/cancelled") cancel(message);
      // Clients of this era send no other notification and no response; what comes all the same is dropped.
    },
    async close() {
      subscriptions.endAll();
      for (const sink of running.values()) sink.cancel("the pipe is closed");
    },
  };

  async function run(request: Request): Promise<void> {
    const { id } = request;
    const key = idKeyOf(id);
    if (running.has(key)) {
      const inUse = new GatewayError(
        "bad_request",
        "downstream",
        `a request with the id ${writeJson(id)} is in flight already`,
      );
      // An error under that id would be taken for the answer to the other request.
      pipe.send(oneDocument(writeError(null, refusalError(inUse))));
      return;
    }
    if (running.size >= MAX_IN_FLIGHT) {
      pipe.send(oneDocument(writeError(id, refusalError(overloaded()))));
      return;
    }
    const sink = new PipeResponse(pipe, () => running.delete(key));
    running.set(key, sink);
    const { principal, endpoint, isSpawnedByHost } = pipe;
    await serve(request, { principal, endpoint, isSpawnedByHost }, sink, subscriptions);
  }

  function cancel(notification: Envelope): void {
    if (paramsFault("notifications/cancelled", notification.params) !== undefined) return;
    const key = idKey(notification.params?.requestId);
    if (key !== undefined) running.get(key)?.cancel("the client cancelled");
  }
}

const overloaded = () =>
  new GatewayError("overloaded", "downstream", `this pipe has ${MAX_IN_FLIGHT} requests in flight`, {
    retryable: true,
  });
