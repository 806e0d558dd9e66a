/** What ends a gateway from outside: a signal (the first one drains, the second ends at once), a required server. */
import { constants } from "node:os";
import type { Gateway } from "../gateway.js";
import { EXIT } from "./exit.js";
import type { Log, Shell } from "./shell.js";

/** What stopping at once may still take, in ms, before the process goes without it. */
const AT_ONCE_MS = 1_000;

/** Waits for what ends a gateway from outside, and resolves, once it has stopped, to the exit code. */
export function ended(gateway: Pick<Gateway, "stop" | "failed">, shell: Shell, log: Log): Promise<number> {
  return Promise.race([stopOnSignal(gateway, shell, log), stopWithoutRequired(gateway, log)]);
}

async function stopOnSignal(gateway: Pick<Gateway, "stop">, shell: Shell, log: Log): Promise<number> {
  const signal = await shell.signals.next();
  log.info({ signal }, `${signal}: no new calls, those under way may finish; once more ends them`);
  const drained = gateway.stop().then(() => EXIT.done);
  const second = shell.signals.next().then(async (again) => {
    log.warn({ signal: again }, `${again} again: stopping at once`);
    await within(AT_ONCE_MS, gateway.stop({ immediate: true }));
    return 128 + constants.signals[again];
  });
  return Promise.race([drained, second]);
}

/** A server that the config calls `required` is not there. */
async function stopWithoutRequired(gateway: Pick<Gateway, "stop" | "failed">, log: Log): Promise<number> {
  const error = await gateway.failed;
  log.error({ code: error.code, server: error.options.server }, error.message);
  await within(AT_ONCE_MS, gateway.stop({ immediate: true }));
  return EXIT.unavailable;
}

/** Resolves when `work` has ended or the time is over; a failure of `work` is left to its owner. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([
    work.then(
      () => {},
      () => {},
    ),
    limit,
  ]);
  clearTimeout(timer);
}
