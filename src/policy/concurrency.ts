/** Lets only so many calls at a server at the same time; the next ones wait in a line of bounded length. */
import type { Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import type { Handler, Middleware } from "../core/handler.js";
import { sharesWithOthers } from "../core/shares.js";
import { GAVE_WAY, type Line } from "./line.js";

/** What a server gets where the config says nothing. */
export const DEFAULT_PLACES = 32;
export const DEFAULT_ROOM = 100;

export interface ConcurrencySettings {
  readonly line: Line;
  /** By its key in the config. */
  readonly server: string;
}

/**
 * A call that its client gives up while it waits leaves the line at once. One that comes back with answers goes on where
 * it stopped, and others may be waiting for that inside, each with a place of its own.
 */
export function concurrency(settings: ConcurrencySettings): Middleware {
  const { line } = settings;
  const leaving = (owner: string | undefined) => ({
    left: (reply: Reply): Reply => {
      line.leave(owner);
      return reply;
    },
    failed: (error: unknown): never => {
      line.leave(owner);
      throw error;
    },
  });
  // Where everybody is one principal nothing is made for each call.
  const everybody = leaving(undefined);
  return (next: Handler): Handler =>
    function concurrency(call) {
      const { principal } = call.client;
      const owner = sharesWithOthers(principal) ? principal.id : undefined;
      const place = line.enter(call.signal, call.answers !== undefined, owner);
      if (place === "full") return Promise.reject(queueFull(settings));
      const { left, failed } = owner === undefined ? everybody : leaving(owner);
      if (place === "inside") return next(call).then(left, failed);
      return place.then(
        () => next(call).then(left, failed),
        (cause: unknown) => {
          throw cause === GAVE_WAY ? queueFull(settings) : gaveUp(cause);
        },
      );
    };
}

const gaveUp = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client gave up this call while it waited", { cause });

const queueFull = ({ line, server }: ConcurrencySettings): GatewayError =>
  new GatewayError(
    "queue_full",
    "gateway",
    `"${server}" is busy: ${line.taken} calls are running and ${line.waiting} are waiting`,
    // How fast the line moves is the server's secret; a second is short for a person and long for a queue.
    { server, retryable: true, retryAfterMs: 1000 },
  );
