/** What V8 would guess wrong about a gateway. Imported before everything else, for its effect. */
import { setFlagsFromString } from "node:v8";

export const V8_FLAGS: readonly string[] = [
  /**
   * Where many objects made at one place in the code have lived long, V8 makes all further ones of that place old from
   * the start. Here the same places serve event streams, which live for hours, and calls, which live for a millisecond:
   * after a thousand streams every call was held by some such object until the next full collection, and cost half as
   * much again (62 µs, not 43) for as long as the process lived.
   */
  "--no-allocation-site-pretenuring",
  /**
   * undici's HTTP parser is WebAssembly, which V8 optimizes after 17 answers in Node 20 and after 120 since. That takes
   * 85 ms and 30 MiB on a thread of its own, of which the allocator may keep 10. So it has to be in use for that, some
   * 9,000 answers long.
   */
  "--wasm-tiering-budget=1000000000",
];

for (const flag of V8_FLAGS) setFlagsFromString(flag);
