/** Notices that a server has gone without a word: one that is quiet for long is asked for a sign of life. */

import { inBackground } from "../core/background.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import type { Connection } from "./connection.js";

/** After so long (ms) without a word a connection is asked. While a call is under way it is not: it may be busy. */
const QUIET_MS = 60_000;
/** How long (ms) the answer may take. */
const LIMIT_MS = 15_000;

/** Watches until `stop` is called; tells `dead` when no sign of life comes. */
export function watchHealth(
  connection: Connection,
  server: string,
  log: Logger,
  dead: (cause: GatewayError) => void,
): { checkNow(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let limit: AbortController | undefined;
  let stopped = false;

  const watch = (): void => {
    const since = connection.quietSince ?? performance.now();
    timer = setTimeout(look, Math.max(since + QUIET_MS - performance.now(), 0));
    timer.unref();
  };
  const look = (): void => {
    const since = connection.quietSince;
    if (since !== undefined && performance.now() - since >= QUIET_MS) checkNow();
    else watch();
  };
  const checkNow = (): void => {
    if (stopped || limit !== undefined) return;
    clearTimeout(timer);
    const giveUp = new AbortController();
    limit = giveUp;
    const late = setTimeout(() => giveUp.abort(), LIMIT_MS);
    const asked = signOfLife(connection, server, giveUp.signal)
      .then((cause) => {
        if (stopped || cause === undefined) return;
        stopped = true;
        dead(cause);
      })
      .finally(() => {
        clearTimeout(late);
        limit = undefined;
        // Also after a fault of ours, which says nothing of the server.
        if (!stopped) watch();
      });
    inBackground(asked, log, "looking after a connection");
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
async function signOfLife(
  connection: Connection,
  server: string,
  signal: StopSignal,
): Promise<GatewayError | undefined> {
  try {
    await connection.check(signal);
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
