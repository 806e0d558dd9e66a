/** Which calls are under way? */
import type { Call, Observer } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { targetName } from "./finished-calls.js";

/** A call under way, as operators see it. */
export interface RunningCall {
  /** As in its record later. */
  readonly id: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly principal: string;
  readonly method: string;
  readonly target: string;
  /** "" where none owns the target. */
  readonly server: string;
}

/** What came of an attempt to cancel: `waiting` where no server works on the call yet. */
export type CancelOutcome = "cancelled" | "waiting" | "unknown";

/** The calls of one gateway that run, in an array with slots: see ARCHITECTURE, "The hot path". */
export class RunningCalls {
  readonly #open: Call[] = [];

  /** Must be inside `callRecords`, which notes when a call began. */
  readonly observer: Observer = {
    onStart: (call) => {
      if (call.record !== undefined) call.record.slot = this.#open.push(call) - 1;
    },
    onEnd: ({ record }) => {
      if (record === undefined) return;
      const last = this.#open.pop();
      if (last?.record === undefined || last.record === record) return;
      this.#open[record.slot] = last;
      last.record.slot = record.slot;
    },
  };

  /** In no order. */
  list(): readonly RunningCall[] {
    const since = Date.now() - performance.now();
    return this.#open.map((call) => ({
      id: call.id,
      startedAt: new Date(since + (call.record?.startedAt ?? 0)).toISOString(),
      principal: call.client.principal.id,
      method: call.method.slice(0, 200),
      target: targetName(call) ?? "",
      server: call.route?.upstream ?? "",
    }));
  }

  /** Cancels the call with this id; its host receives the error `cancelled`, its server a cancellation. */
  cancel(id: number): CancelOutcome {
    const call = this.#open.find((open) => open.id === id);
    if (call === undefined) return "unknown";
    if (call.record?.cancel === undefined) return "waiting";
    call.record.cancel(new GatewayError("cancelled", "gateway", "an operator cancelled this call"));
    return "cancelled";
  }
}
