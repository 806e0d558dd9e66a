/** The one function type under all protocols, and how layers are put around it. */
import type { Call, Reply } from "./call.js";

/** Never throws before it returns: what goes wrong at once is a rejection like any other. */
export type Handler = (call: Call) => Promise<Reply>;
export type Middleware = (next: Handler) => Handler;

/** Looks on: it changes neither the call nor its reply, and does not throw. */
export interface Observer {
  /** A call has come. */
  readonly onStart?: (call: Call) => void;
  /** Its reply is there, so many ms later. */
  readonly onEnd: (call: Call, reply: Reply, ms: number) => void;
}

/** One layer for all `observers`: each that is a layer of its own costs every call 0.2 µs. It sees replies alone. */
export function observerMiddleware(observers: readonly Observer[]): Middleware {
  return (next) =>
    function observed(call) {
      const start = performance.now();
      for (const observer of observers) observer.onStart?.(call);
      return next(call).then((reply) => {
        const ms = performance.now() - start;
        for (const observer of observers) observer.onEnd(call, reply, ms);
        return reply;
      });
    };
}

/** Wraps `handler`; the first middleware in the list is the outermost. */
export function compose(middleware: readonly Middleware[], handler: Handler): Handler {
  return middleware.reduceRight((next, wrap) => wrap(next), handler);
}
