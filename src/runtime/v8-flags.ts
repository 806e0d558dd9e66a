/** Which V8 flags does the gateway set? Imported before everything else, for its effect. */
import { setFlagsFromString } from "node:v8";

/** The flags (docs/decisions/13-v8-flags.md). */
export const V8_FLAGS: readonly string[] = [
  /**
   * V8 allocates objects in the old generation where many earlier objects of the same allocation site survived. Here
   * the same sites serve event streams, which live for hours, and calls, which live for a millisecond: after a thousand
   * streams, objects of each call stayed alive until the next full collection, and a call took 62 µs instead of 43.
   */
  "--no-allocation-site-pretenuring",
  /**
   * undici's HTTP parser is WebAssembly. V8 optimizes it after some hundred responses, which takes a fifth of a second of
   * processor time and 30 MiB on another thread, of which the allocator may keep 10. Calls are no faster afterwards.
   */
  "--liftoff-only",
  /**
   * V8 records the types that a function meets, and compiles its bytecode, only once the function has run for a while. With
   * records from the first run on, the second to the tenth call take half the processor time.
   */
  "--no-lazy-feedback-allocation",
];

for (const flag of V8_FLAGS) setFlagsFromString(flag);
