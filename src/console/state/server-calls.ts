/** What the last calls say of each server: how many failed, how many timed out, and how long it took. */
import type { CallRow } from "../../features/admin/rows.js";

/** Calls that ended longer ago (ms) say nothing of now. */
const WINDOW_MS = 10 * 60_000;
/** Fewer calls say nothing of a server. */
const FEWEST = 5;

/** Outcomes that are no fault of the server. */
const NO_FAULT: ReadonlySet<string> = new Set([
  ...["ok", "input_required", "cancelled"],
  ...["bad_request", "unauthenticated", "forbidden", "unknown_target", "denied", "approval_declined"],
  ...["rate_limited", "queue_full", "state_rejected", "too_large", "quarantined", "sign_in_required"],
  ...["audit_unavailable", "overloaded"],
]);
/** Outcomes by which a rule or a limit refuses a call. */
const REFUSED: ReadonlySet<string> = new Set(["denied", "approval_declined", "rate_limited", "quarantined"]);

/** The calls of one server in the last minutes. */
export interface ServerCalls {
  readonly calls: number;
  readonly failed: number;
  readonly timedOut: number;
  /** When the first of the failed ones ended, in ms since 1970. */
  readonly failingSince: number | undefined;
  /** 95 % of its answers took no longer, in ms; undefined if there are too few. */
  readonly p95: number | undefined;
}

/** The calls that one rule or limit has refused in the last minutes. */
export interface Refusals {
  readonly rule: string;
  readonly count: number;
  readonly targets: readonly string[];
  readonly since: number;
}

const NONE: ServerCalls = { calls: 0, failed: 0, timedOut: 0, failingSince: undefined, p95: undefined };

/** Whether the call went wrong, or was refused: what an operator looks for first. */
export const isFailed = ({ outcome }: Pick<CallRow, "outcome">): boolean =>
  outcome !== "ok" && outcome !== "input_required" && outcome !== "cancelled";

/** Those of `server`. `now` in ms since 1970. */
export function callsOfServer(rows: readonly CallRow[], server: string, now: number): ServerCalls {
  const own = rows.filter((row) => row.server === server && isRecent(row, now));
  if (own.length === 0) return NONE;
  const failed = own.filter(({ outcome }) => !NO_FAULT.has(outcome));
  const times = own
    .map(({ ms }) => ms.upstream)
    .filter((ms) => ms > 0)
    .sort((a, b) => a - b);
  return {
    calls: own.length,
    failed: failed.length,
    timedOut: failed.filter(({ outcome }) => outcome === "timed_out").length,
    failingSince: failed.length === 0 ? undefined : Math.min(...failed.map(({ at }) => at)),
    p95: times.length < FEWEST ? undefined : times[Math.ceil(0.95 * times.length) - 1],
  };
}

/** `3 of 8 calls failed`, with the time-outs among them. */
export function failuresText({ calls, failed, timedOut }: ServerCalls): string {
  const late = timedOut === 0 ? "" : timedOut === failed ? ", all by time-out" : `, ${timedOut} by time-out`;
  return `${failed} of ${calls} calls failed in the last 10 min${late}`;
}

/** Whether a fifth of its calls fail, of five at least. */
export const failsOften = ({ calls, failed }: ServerCalls): boolean => calls >= FEWEST && 5 * failed >= calls;

/** The refusals by each rule, the most frequent first. */
export function refusalsOf(rows: readonly CallRow[], now: number): readonly Refusals[] {
  const byRule = new Map<string, CallRow[]>();
  for (const row of rows) {
    if (row.rule === undefined || !REFUSED.has(row.outcome) || !isRecent(row, now)) continue;
    const known = byRule.get(row.rule);
    if (known === undefined) byRule.set(row.rule, [row]);
    else known.push(row);
  }
  return [...byRule]
    .map(([rule, refused]) => ({
      rule,
      count: refused.length,
      targets: [...new Set(refused.map(({ target, method }) => target || method))],
      since: Math.min(...refused.map(({ at }) => at)),
    }))
    .sort((a, b) => b.count - a.count);
}

const isRecent = ({ at, ms }: CallRow, now: number): boolean => now - at - ms.total < WINDOW_MS;
