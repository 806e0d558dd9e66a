/** Gives a call up when its server has shown no sign of life for too long. */

import type { Call, Handler, Middleware, Notice, Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { Stop } from "../core/stop.js";
import { CoarseTimers } from "../runtime/coarse-timers.js";
import { isSafeToRepeat } from "./retry.js";

/** The timeouts of one server, in ms. */
export interface DeadlineSettings {
  /** Whose calls these are, for the message. */
  readonly server: string;
  /** How long a server may be silent; an hour for `tasks/result`, whose response comes when the task is done. */
  readonly timeoutMs: number;
  /** The timeout of one call, where a limit sets it. */
  readonly timeoutOf?: ((call: Call) => number | undefined) | undefined;
  /** How long a call may take in all, however lively; default one hour, and never less than `timeoutMs`. */
  readonly capMs?: number;
}

const HOUR = 3_600_000;
/** A timer that is so late (ms) was held up: the process was suspended. */
const EVENT_LOOP_STALL_MS = 100;

/**
 * Every notice of the call (progress, log message) and any other sign of life starts the clock again. When time is
 * up the call's signal is aborted for everything below, so that the server is notified, and whatever still comes of it
 * is dropped. Time for which the process was suspended does not count: an answer that came meanwhile has yet to be
 * read.
 *
 * @throws RangeError when `timeoutMs` is no positive number.
 */
export function deadline(settings: DeadlineSettings): Middleware {
  const { server } = settings;
  if (!(settings.timeoutMs > 0)) throw new RangeError("a timeout must be greater than 0");

  const timers = new CoarseTimers();
  return (next: Handler): Handler =>
    function deadline(call) {
      const timeoutMs =
        settings.timeoutOf?.(call) ?? (call.method === "tasks/result" ? HOUR : settings.timeoutMs);
      const capMs = Math.max(timeoutMs, settings.capMs ?? HOUR);
      return new Promise<Reply>((resolve, reject) => {
        const controller = new Stop();
        const start = performance.now();
        let watching = true;
        let expired = false;
        let capped = timeoutMs >= capMs;
        const timer = timers.set(timeoutMs, timeOut, start);
        let isStallExcused = false;

        function timeOut(): void {
          const late = performance.now() - timer.dueAt;
          if (late >= EVENT_LOOP_STALL_MS && !isStallExcused) {
            isStallExcused = true;
            timer.reschedule(late);
            return;
          }
          giveUp(timedOut(call, server, Math.round(performance.now() - start)));
        }
        function giveUp(error: GatewayError): void {
          expired = true;
          failed(error);
          controller.abort(error);
        }
        function onClientAbort(): void {
          controller.abort(call.signal.reason);
        }
        function stopWatching(): void {
          watching = false;
          if (call.record !== undefined) call.record.cancel = undefined;
          timer.clear();
        }
        function onSignOfLife(): void {
          if (watching) restartTimer();
        }
        function notify(notice: Notice): void {
          onSignOfLife();
          if (!expired) call.notify(notice);
        }
        function restartTimer(): void {
          if (capped) return;
          const now = performance.now();
          const left = capMs - (now - start);
          capped = left <= timeoutMs;
          isStallExcused = false;
          timer.reschedule(Math.min(left, timeoutMs), now);
        }
        function answered(reply: Reply): void {
          stopWatching();
          // In a session a call that waits for input is still open: its cancellation must reach the server.
          // Without one the request is over, and nothing may hold on to it.
          if (reply.kind !== "input_required" || !call.client.session)
            call.signal.removeEventListener("abort", onClientAbort);
          resolve(reply);
        }
        function failed(error: unknown): void {
          stopWatching();
          call.signal.removeEventListener("abort", onClientAbort);
          reject(error);
        }

        if (call.record !== undefined) call.record.cancel = giveUp;
        if (call.signal.aborted) onClientAbort();
        else call.signal.addEventListener("abort", onClientAbort, { once: true });
        try {
          next({ ...call, signal: controller.signal, notify: notify, onActivity: onSignOfLife }).then(
            answered,
            failed,
          );
        } catch (error) {
          failed(error);
        }
      });
    };
}

function timedOut(call: Call, server: string, afterMs: number): GatewayError {
  return new GatewayError(
    "timed_out",
    "upstream",
    `"${server}" did not answer in time (${seconds(afterMs)} s)`,
    {
      server,
      retryable: isSafeToRepeat(call),
    },
  );
}

const seconds = (ms: number): number => (ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000));
