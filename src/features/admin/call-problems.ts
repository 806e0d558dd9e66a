/** What the last calls show: servers that answer slowly, and rules and limits that refuse calls. */
import type { CallRow } from "../../telemetry/call-history.js";
import { FAILURE_WINDOW_SECONDS } from "../../telemetry/server-failures.js";
import { rowOf, rowOfGateway } from "./problem-rows.js";
import type { ProblemRow } from "./rows.js";

/** Fewer answers are chance. */
const FEWEST_ANSWERS = 5;
/** A server whose 95th percentile (ms) is above this is slow. */
const SLOW_MS = 3_000;
/** Targets that a row names. */
const TARGETS_SHOWN = 3;
/** Outcomes without an answer whose time says anything: a time-out is a problem of its own. */
const UNTIMED: ReadonlySet<string> = new Set(["timed_out", "cancelled"]);
/** Outcomes by which a rule or a limit refuses a call. */
const REFUSED: ReadonlySet<string> = new Set(["denied", "approval_declined", "rate_limited"]);

/** The rows of the kinds `slow` and `refusals`. `calls`: the last ones, the newest first; `now`: ms since 1970. */
export function callProblems(
  calls: readonly CallRow[],
  servers: ReadonlySet<string>,
  now: number,
): readonly ProblemRow[] {
  const from = now - FAILURE_WINDOW_SECONDS * 1_000;
  const recent = calls.filter(({ at, ms }) => at + ms.total >= from);
  const answered = recent.filter(({ ms, outcome }) => ms.upstream > 0 && !UNTIMED.has(outcome));
  const refused = recent.filter(({ rule, outcome }) => rule !== undefined && REFUSED.has(outcome));
  return [
    ...[...grouped(answered, ({ server }) => server)]
      .filter(([server]) => servers.has(server))
      .flatMap(([server, own]) => slowRow(server, own) ?? []),
    ...[...grouped(refused, ({ rule }) => rule ?? "")].map(([rule, own]) => refusalsRow(rule, own)),
  ];
}

function slowRow(server: string, calls: readonly CallRow[]): ProblemRow | undefined {
  if (calls.length < FEWEST_ANSWERS) return undefined;
  const times = calls.map(({ ms }) => ms.upstream).sort((a, b) => a - b);
  const p95 = times[Math.ceil(0.95 * times.length) - 1] ?? 0;
  if (p95 <= SLOW_MS) return undefined;
  const slow = calls.filter(({ ms }) => ms.upstream > SLOW_MS);
  const text = `${server} is slow: 95 % of ${calls.length} calls within ${MINUTES} min took up to ${(p95 / 1_000).toFixed(1)} s`;
  return rowOf("slow", "warning", server, { text, since: startOf(slow), actions: [] });
}

function refusalsRow(rule: string, calls: readonly CallRow[]): ProblemRow {
  const targets = [...new Set(calls.map(({ target, method }) => target || method))];
  const shown = targets.slice(0, TARGETS_SHOWN).join(", ");
  return rowOfGateway("refusals", "note", rule, {
    text: `${rule} refuses calls: ${shown}${targets.length > TARGETS_SHOWN ? " and others" : ""}`,
    ...{ rule, since: startOf(calls), count: calls.length, actions: [] },
  });
}

const MINUTES = FAILURE_WINDOW_SECONDS / 60;

const startOf = (calls: readonly CallRow[]): number => Math.min(...calls.map(({ at }) => at));

function grouped(
  calls: readonly CallRow[],
  keyOf: (call: CallRow) => string,
): ReadonlyMap<string, readonly CallRow[]> {
  const groups = new Map<string, CallRow[]>();
  for (const call of calls) {
    const own = groups.get(keyOf(call));
    if (own === undefined) groups.set(keyOf(call), [call]);
    else own.push(call);
  }
  return groups;
}
