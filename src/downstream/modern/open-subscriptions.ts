/** The subscriptions that are open now: their number is bounded, and all can be ended gracefully. */
import type { Call } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import { TASKS_EXTENSION } from "../../core/tasks.js";
import type { Request } from "../../wire/envelope.js";
import { Payload } from "../../wire/payload.js";
import type { StreamRoom } from "../edge.js";
import { declares, undeclared } from "./extensions.js";
import type { Outlet } from "./outlet.js";
import { farewell, listen, readFilter } from "./subscriptions.js";
import type { WriteReply } from "./write-reply.js";

export interface SubscriptionLimits {
  /** The most subscriptions open at once. */
  readonly subscriptions: number;
  /** The most resources that one of them may name. */
  readonly resourcesEach: number;
}

export class OpenSubscriptions {
  readonly #open = new Set<() => void>();

  constructor(
    private readonly port: Pick<GatewayPort, "changes" | "followTasks">,
    private readonly writeReply: WriteReply,
    private readonly limits: SubscriptionLimits,
    private readonly room: StreamRoom,
  ) {}

  /**
   * Answers a listen request with a subscription that lasts until the client gives it up.
   * @throws GatewayError `overloaded`, or `bad_request` when the filter cannot be read or asks for tasks that the
   * client has not declared
   */
  async open(request: Request, call: Call, outlet: Outlet): Promise<void> {
    const filter = readFilter(request, this.limits.resourcesEach);
    if (filter.tasks.length > 0 && !declares(call.client, TASKS_EXTENSION)) throw undeclared(TASKS_EXTENSION);
    if (this.#open.size >= this.limits.subscriptions) {
      throw new GatewayError("overloaded", "gateway", "too many subscriptions are open", {
        retryable: true,
        retryAfterMs: 5_000,
      });
    }
    if (outlet.signal.aborted) return;
    const leave = this.room.take(call.client.principal);
    let stop: (() => void) | undefined;
    const end = (): void => {
      if (!this.#open.delete(end)) return;
      leave();
      stop?.();
      const result = Payload.ofObject(farewell(request.id));
      outlet.answer(this.writeReply(request.id, call, { kind: "result", result }));
    };
    this.#open.add(end);
    outlet.signal.addEventListener("abort", end, { once: true });
    const send = (message: string): void => outlet.send(message);
    try {
      stop = await listen(filter, { id: request.id, client: call.client, send, lost: end }, this.port);
    } catch (error) {
      this.#open.delete(end);
      leave();
      throw error;
    }
    // It may have ended before it had begun.
    if (!this.#open.has(end)) stop();
  }

  /** Ends each with its answer, as a server that stops should. */
  endAll(): void {
    for (const end of this.#open) end();
  }
}
