/** What the last calls say of each server: how many were made, and how many failed. */
import type { CallRow } from "../../features/admin/rows.js";

/** Calls that ended longer ago (ms) say nothing of now. */
const WINDOW_MS = 10 * 60_000;

/** Outcomes that are no fault of the server. */
const NO_FAULT: ReadonlySet<string> = new Set([
  ...["ok", "input_required", "cancelled"],
  ...["bad_request", "unauthenticated", "forbidden", "unknown_target", "denied", "approval_declined"],
  ...["rate_limited", "queue_full", "state_rejected", "too_large", "quarantined", "sign_in_required"],
  ...["audit_unavailable", "overloaded"],
]);

/** The calls of one server in the last minutes. */
interface ServerCalls {
  readonly calls: number;
  readonly failed: number;
}

/** Whether the call went wrong, or was refused: what an operator looks for first. */
export const isFailed = ({ outcome }: Pick<CallRow, "outcome">): boolean =>
  outcome !== "ok" && outcome !== "input_required" && outcome !== "cancelled";

/** Those of `server`. `now` in ms since 1970. */
export function callsOfServer(rows: readonly CallRow[], server: string, now: number): ServerCalls {
  const own = rows.filter((row) => row.server === server && isRecent(row, now));
  return { calls: own.length, failed: own.filter(({ outcome }) => !NO_FAULT.has(outcome)).length };
}

const isRecent = ({ at, ms }: CallRow, now: number): boolean => now - at - ms.total < WINDOW_MS;
