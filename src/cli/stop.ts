/**
 * What stops a gateway: a signal (the first one drains, the second stops immediately), a required server, its only
 * host.
 */

import { constants } from "node:os";
import { settle, withTimeout } from "../core/stop.js";
import type { Gateway } from "../gateway/gateway.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";

/** Timeout of an immediate stop, in ms; then the process exits anyway. */
const IMMEDIATE_STOP_MS = 1_000;

type StoppableGateway = Pick<Gateway, "stop" | "failed" | "hasCutOff">;

const NEVER = new Promise<never>(() => {});

/**
 * Waits for a stop reason, and resolves to the exit code once the gateway has stopped. `hostGone` resolves when its
 * only host has disconnected, which while the gateway is already stopping is not the reason.
 */
export function untilStopped(
  gateway: StoppableGateway,
  shell: CommandContext,
  log: Log,
  hostGone: Promise<void> = NEVER,
): Promise<number> {
  let stopping = false;
  const begin = (): void => {
    stopping = true;
  };
  const stopWithoutHost = async (): Promise<number> => {
    await hostGone;
    if (stopping) return NEVER;
    log.debug({}, "the host disconnected");
    await gateway.stop();
    return EXIT.done;
  };
  return Promise.race([
    stopOnSignal(gateway, shell, log, begin),
    stopWithoutRequired(gateway, log, begin),
    stopWithoutHost(),
  ]);
}

async function stopOnSignal(
  gateway: StoppableGateway,
  shell: CommandContext,
  log: Log,
  begin: () => void,
): Promise<number> {
  const signal = await shell.signals.next();
  begin();
  log.info(
    { signal },
    `${signal}: draining: no new calls, running ones may finish; a second signal ends them`,
  );
  let isCutOff = false;
  const drained = gateway.stop().then(() => {
    // Stopping at once ends the drain, too, whose end is no clean one then.
    if (isCutOff) return NEVER;
    if (gateway.hasCutOff()) {
      log.warn({ signal }, "stopped; calls that had not ended in time were cancelled");
      return EXIT.failed;
    }
    log.info({ signal }, "stopped");
    return EXIT.done;
  });
  const second = shell.signals.next().then(async (again) => {
    isCutOff = true;
    log.warn({ signal: again }, `${again} again: stopping at once`);
    await withTimeout(IMMEDIATE_STOP_MS, settle(gateway.stop({ immediate: true })));
    log.info({ signal: again }, "stopped; running calls were cancelled");
    return 128 + constants.signals[again];
  });
  return Promise.race([drained, second]);
}

/** A server that the config calls `required` is unavailable. */
async function stopWithoutRequired(gateway: StoppableGateway, log: Log, begin: () => void): Promise<number> {
  const error = await gateway.failed;
  begin();
  log.error({ code: error.code, server: error.options.server }, error.message);
  await withTimeout(IMMEDIATE_STOP_MS, settle(gateway.stop({ immediate: true })));
  return EXIT.unavailable;
}
