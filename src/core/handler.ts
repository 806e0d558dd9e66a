/** The one function type under all protocols, and how layers are put around it. */
import type { Call, Reply } from "./call.js";

/** Never throws before it returns: what goes wrong at once is a rejection like any other. */
export type Handler = (call: Call) => Promise<Reply>;
export type Middleware = (next: Handler) => Handler;

/** Wraps `handler`; the first middleware in the list is the outermost. */
export function compose(middleware: readonly Middleware[], handler: Handler): Handler {
  return middleware.reduceRight((next, wrap) => wrap(next), handler);
}
