/** The subscriptions that are open now: their number is bounded, and all can be ended gracefully. */
import type { Call } from "../../core/call.js";
import type { Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { MemoryBudget } from "../../core/fair-share.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import type { Request } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import type { StreamQuota } from "../edge.js";
import { declaresExtension, undeclaredExtension } from "./client-capabilities.js";
import type { ResponseSink } from "./response-sink.js";
import { closingResult, type Filter, listen, readFilter } from "./subscriptions.js";
import type { WriteReply } from "./write-reply.js";

/** Limits of the subscriptions of one transport. */
export interface SubscriptionLimits {
  /** The most subscriptions open at once. */
  readonly subscriptions: number;
  /** The most resources that one of them may name. */
  readonly resourcesEach: number;
}

/** The open subscriptions of the HTTP listener, or of one pipe. */
export class OpenSubscriptions {
  readonly #open = new Set<() => void>();

  constructor(
    private readonly gateway: Pick<GatewayApi, "changes" | "followTasks">,
    private readonly writeReply: WriteReply,
    private readonly limits: SubscriptionLimits,
    private readonly streamQuota: StreamQuota,
    private readonly memoryBudget: MemoryBudget = new MemoryBudget(),
  ) {}

  /**
   * Answers a listen request with a subscription that lasts until the client gives it up.
   * @throws GatewayError `overloaded`, or `bad_request` when the filter cannot be read or asks for tasks that the
   * client has not declared
   */
  async open(request: Request, call: Call, sink: ResponseSink): Promise<void> {
    const filter = readFilter(request, this.limits.resourcesEach);
    if (filter.tasks.length > 0 && !declaresExtension(call.client, TASKS_EXTENSION))
      throw undeclaredExtension(TASKS_EXTENSION);
    if (this.#open.size >= this.limits.subscriptions) {
      throw new GatewayError("overloaded", "gateway", "too many subscriptions are open", {
        retryable: true,
        retryAfterMs: 5_000,
      });
    }
    if (sink.signal.aborted) return;
    const release = this.#reserve(call.client.principal, retainedSizeOf(filter));
    // A subscription may last for days; of what its request said only the filter is needed.
    const asked: Call = { ...call, params: NO_PARAMS };
    const { id } = request;
    let stop: (() => void) | undefined;
    const end = (): void => {
      if (!this.#open.delete(end)) return;
      release();
      stop?.();
      const result = Payload.ofObject(closingResult(id));
      sink.respond(this.writeReply(id, asked, { kind: "result", result }));
    };
    this.#open.add(end);
    sink.signal.addEventListener("abort", end, { once: true });
    const send = (message: string): void => sink.send(message);
    try {
      stop = await listen(filter, { id, client: asked.client, send, onLost: end }, this.gateway);
    } catch (error) {
      this.#open.delete(end);
      release();
      throw error;
    }
    // It may have ended before it had begun.
    if (!this.#open.has(end)) stop();
  }

  /** A place for a stream, and for what is kept of its filter. @throws GatewayError `overloaded` */
  #reserve(principal: Principal, characters: number): () => void {
    if (characters > MAX_CHARACTERS) {
      const most = `the names in the filter of one subscription may have ${MAX_CHARACTERS} characters in all`;
      throw new GatewayError("bad_request", "downstream", most, { rpc: CODE.invalidParams });
    }
    const share = this.memoryBudget.shareOf(principal);
    const release = this.streamQuota.acquire(principal);
    if (share.reserve(characters)) {
      return () => {
        release();
        share.release(characters);
      };
    }
    release();
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
const OVERHEAD_PER_NAME = 500;
const NO_PARAMS: Call["params"] = Object.freeze({});

const retainedSizeOf = ({ uris, tasks }: Filter): number =>
  [...uris, ...tasks].reduce((sum, { length }) => sum + length + OVERHEAD_PER_NAME, OVERHEAD_PER_NAME);
