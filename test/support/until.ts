/** Waiting for something that another process does: looked at repeatedly, up to a limit. */
import { setTimeout as pause } from "node:timers/promises";

/**
 * Resolves to what `look` returns as soon as that is neither `undefined` nor `false`.
 *
 * @throws Error naming `what` when it does not come about within `limitMs`
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 300_000,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`${what} did not come about within ${limitMs} ms`);
    await pause(15);
  }
}
