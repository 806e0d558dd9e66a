/** How many calls run at a server at the same time? More wait in a bounded queue. */
import type { Handler, Middleware, Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { isIdentified } from "../core/fair-share.js";
import { EVICTED, type Semaphore } from "./semaphore.js";

/** The defaults of a server. */
export const DEFAULT_CONCURRENCY = 32;
/** Calls that may wait at a server. */
export const DEFAULT_QUEUE_LIMIT = 100;

/** How many calls run at one server. */
export interface ConcurrencySettings {
  readonly semaphore: Semaphore;
  /** By its key in the config. */
  readonly server: string;
}

/**
 * A call that its client gives up while it waits leaves the line at once. One that comes back with answers goes on where
 * it stopped, and others may be waiting for that inside, each with a place of its own.
 */
export function concurrency(settings: ConcurrencySettings): Middleware {
  const { semaphore } = settings;
  const releasing = (owner: string | undefined) => ({
    onReply: (reply: Reply): Reply => {
      semaphore.release(owner);
      return reply;
    },
    onError: (error: unknown): never => {
      semaphore.release(owner);
      throw error;
    },
  });
  // With one principal no owner is needed.
  const releasingUnowned = releasing(undefined);
  return (next: Handler): Handler =>
    function concurrency(call) {
      const { principal } = call.client;
      const owner = isIdentified(principal) ? principal.id : undefined;
      const acquired = semaphore.acquire(call.signal, call.inputResponses !== undefined, owner);
      if (acquired === "full") return Promise.reject(queueFull(settings));
      const { onReply, onError } = owner === undefined ? releasingUnowned : releasing(owner);
      if (acquired === "inside") return next(call).then(onReply, onError);
      return acquired.then(
        () => next(call).then(onReply, onError),
        (cause: unknown) => {
          throw cause === EVICTED ? queueFull(settings) : cancelledInQueue(cause);
        },
      );
    };
}

const cancelledInQueue = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client gave up this call while it waited", { cause });

const queueFull = ({ semaphore, server }: ConcurrencySettings): GatewayError =>
  new GatewayError(
    "queue_full",
    "gateway",
    `"${server}" is busy: ${semaphore.running} calls are running and ${semaphore.queued} are waiting`,
    // How fast the line moves is the server's secret; a second is short for a person and long for a queue.
    { server, retryable: true, retryAfterMs: 1000 },
  );
