/** The subscriptions that are open now: their number is bounded, and all can be ended gracefully. */
import type { Call } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import type { Request } from "../../wire/envelope.js";
import { Payload } from "../../wire/payload.js";
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
    private readonly port: Pick<GatewayPort, "changes">,
    private readonly writeReply: WriteReply,
    private readonly limits: SubscriptionLimits,
  ) {}

  /**
   * Answers a listen request with a subscription that lasts until the client gives it up.
   * @throws GatewayError `overloaded`, or `bad_request` when the filter cannot be read
   */
  open(request: Request, call: Call, outlet: Outlet): void {
    const filter = readFilter(request, this.limits.resourcesEach);
    if (this.#open.size >= this.limits.subscriptions) {
      throw new GatewayError("overloaded", "gateway", "too many subscriptions are open", {
        retryable: true,
        retryAfterMs: 5_000,
      });
    }
    if (outlet.signal.aborted) return;
    const stop = listen(request.id, filter, call.client, this.port, (message) => outlet.send(message));
    const end = (): void => {
      if (!this.#open.delete(end)) return;
      stop();
      const result = Payload.ofObject(farewell(request.id));
      outlet.answer(this.writeReply(request.id, call, { kind: "result", result }));
    };
    this.#open.add(end);
    outlet.signal.addEventListener("abort", end, { once: true });
  }

  /** Ends each with its answer, as a server that stops should. */
  endAll(): void {
    for (const end of this.#open) end();
  }
}
