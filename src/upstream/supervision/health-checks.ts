/** Is the server behind an open connection alive? It is asked where the connection is idle, or where a call did not reach it. */
import { GatewayError } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { Connection } from "../connection.js";

/** The idle time (ms) after which a connection is checked. While a call is running it is not: the server may be busy. */
const IDLE_MS = 60_000;
/** The timeout (ms) of a health check. */
const TIMEOUT_MS = 15_000;

/** The checks of one connection. */
export interface HealthChecks {
  /** Checks at once, unless a check is under way. */
  checkNow(): void;
  stop(): void;
}

/** Checks the connection until `stop` is called; calls `onDead` once when a check fails. */
export function watchHealth(
  connection: Connection,
  server: string,
  log: Logger,
  onDead: (cause: GatewayError) => void,
): HealthChecks {
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
        // Also after a bug of the gateway: it is no evidence against the server.
        if (!stopped) watch();
      });
    inBackground(checking, log, "checking the health of a connection");
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

/** Undefined when the server is alive. */
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
      return new GatewayError("upstream_closed", "upstream", `${server} did not answer a health check`, {
        server,
        retryable: true,
      });
    }
    if (!(error instanceof GatewayError)) throw error;
    // A status from 500 on (`answered` is false) may come from a proxy whose backend is down.
    return error.options.answered === true ? undefined : error;
  }
}
