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
   * undici's HTTP parser is WebAssembly, which V8 optimizes after 17 responses in Node 20 and after 120 in later ones.
   * That takes 85 to 350 ms and 30 MiB on another thread, of which the allocator may keep 10. With this budget it happens
   * after some hundred responses (undici 7.30: 300 to 1,000; a larger one changes little).
   */
  "--wasm-tiering-budget=1000000000",
];

for (const flag of V8_FLAGS) setFlagsFromString(flag);
