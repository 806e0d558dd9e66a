/** The subscriptions that are open now: their number is bounded, and all can be ended gracefully. */
import type { Call } from "../../core/call.js";
import type { Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import { KeptBudget } from "../../core/kept-budget.js";
import { TASKS_EXTENSION } from "../../core/tasks.js";
import type { Request } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import type { StreamRoom } from "../edge.js";
import { declares, undeclared } from "./extensions.js";
import type { Outlet } from "./outlet.js";
import { type Filter, farewell, listen, readFilter } from "./subscriptions.js";
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
    private readonly kept: KeptBudget = new KeptBudget(),
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
    const leave = this.#place(call.client.principal, extentOf(filter));
    // A subscription may last for days; of what its request said only the filter is needed.
    const asked: Call = { ...call, params: NO_PARAMS };
    const { id } = request;
    let stop: (() => void) | undefined;
    const end = (): void => {
      if (!this.#open.delete(end)) return;
      leave();
      stop?.();
      const result = Payload.ofObject(farewell(id));
      outlet.answer(this.writeReply(id, asked, { kind: "result", result }));
    };
    this.#open.add(end);
    outlet.signal.addEventListener("abort", end, { once: true });
    const send = (message: string): void => outlet.send(message);
    try {
      stop = await listen(filter, { id, client: asked.client, send, lost: end }, this.port);
    } catch (error) {
      this.#open.delete(end);
      leave();
      throw error;
    }
    // It may have ended before it had begun.
    if (!this.#open.has(end)) stop();
  }

  /** A place for a stream, and for what is kept of its filter. @throws GatewayError `overloaded` */
  #place(principal: Principal, characters: number): () => void {
    if (characters > MAX_CHARACTERS) {
      const most = `the names in the filter of one subscription may have ${MAX_CHARACTERS} characters in all`;
      throw new GatewayError("bad_request", "downstream", most, { rpc: CODE.invalidParams });
    }
    const share = this.kept.of(principal);
    const leave = this.room.take(principal);
    if (share.take(characters)) {
      return () => {
        leave();
        share.give(characters);
      };
    }
    leave();
    throw new GatewayError("overloaded", "downstream", "your subscriptions name too many resources already", {
      retryable: true,
      retryAfterMs: 5_000,
    });
  }

  /** Ends each with its answer, as a server that stops should. */
  endAll(): void {
    for (const end of this.#open) end();
  }
}

/** What all URIs and handles of one subscription may have together. */
const MAX_CHARACTERS = 262_144;
/** What is kept beside each of them. */
const BESIDE = 500;
const NO_PARAMS: Call["params"] = Object.freeze({});

const extentOf = ({ uris, tasks }: Filter): number =>
  [...uris, ...tasks].reduce((sum, { length }) => sum + length + BESIDE, BESIDE);
