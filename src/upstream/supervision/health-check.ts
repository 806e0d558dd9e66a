/** Notices that a server has gone without a word: one that is quiet for long is asked for a sign of life. */

import { GatewayError } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { Connection } from "../connection.js";

/** After so long (ms) without a word a connection is asked. While a call is under way it is not: it may be busy. */
const IDLE_MS = 60_000;
/** How long (ms) the answer may take. */
const TIMEOUT_MS = 15_000;

/** Watches until `stop` is called; tells `onDead` when no sign of life comes. */
export function watchHealth(
  connection: Connection,
  server: string,
  log: Logger,
  onDead: (cause: GatewayError) => void,
): { checkNow(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let limit: AbortController | undefined;
  let stopped = false;

  const watch = (): void => {
    const since = connection.idleSince ?? performance.now();
    timer = setTimeout(tick, Math.max(since + IDLE_MS - performance.now(), 0));
    timer.unref();
  };
  const tick = (): void => {
    const since = connection.idleSince;
    if (since !== undefined && performance.now() - since >= IDLE_MS) checkNow();
    else watch();
  };
  const checkNow = (): void => {
    if (stopped || limit !== undefined) return;
    clearTimeout(timer);
    const giveUp = new AbortController();
    limit = giveUp;
    const late = setTimeout(() => giveUp.abort(), TIMEOUT_MS);
    const checking = healthCheckError(connection, server, giveUp.signal)
      .then((cause) => {
        if (stopped || cause === undefined) return;
        stopped = true;
        onDead(cause);
      })
      .finally(() => {
        clearTimeout(late);
        limit = undefined;
        // Also after a fault of ours, which says nothing of the server.
        if (!stopped) watch();
      });
    inBackground(checking, log, "looking after a connection");
  };

  watch();
  return {
    checkNow,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      limit?.abort();
    },
  };
}

/** Why there is none; undefined when there is. */
async function healthCheckError(
  connection: Connection,
  server: string,
  signal: StopSignal,
): Promise<GatewayError | undefined> {
  try {
    await connection.checkHealth(signal);
    return undefined;
  } catch (error) {
    if (signal.aborted) {
      return new GatewayError("upstream_closed", "upstream", `${server} gave no sign of life`, {
        server,
        retryable: true,
      });
    }
    if (!(error instanceof GatewayError)) throw error;
    // From 500 on it may be a proxy that speaks, with nobody behind it.
    return error.options.answered === true ? undefined : error;
  }
}
