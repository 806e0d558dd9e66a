/** How the pages of several workers become one. */
import { type WorkerAnswers, withWorkers } from "../../core/admin-page.js";
import { UPSTREAM_STATES } from "../../core/upstream.js";
import { readCallQuery } from "./call-rows.js";
import type { CallRow, History, ServerRow } from "./rows.js";

/** The calls of all workers, the newest first. */
export const calls = (
  answers: WorkerAnswers<readonly CallRow[]>,
  query: URLSearchParams,
): readonly CallRow[] =>
  withWorkers(answers)
    .toSorted((a, b) => b.at - a.at)
    .slice(0, readCallQuery(query).limit);

/** One row per server: its worst state, and the sum of its calls. */
export function servers(answers: WorkerAnswers<readonly ServerRow[]>): readonly ServerRow[] {
  const merged = new Map<string, ServerRow>();
  for (const row of answers.flatMap(({ body }) => body)) {
    const before = merged.get(row.name);
    merged.set(row.name, before === undefined ? row : worseOf(before, row));
  }
  return [...merged.values()];
}

const CIRCUITS = ["closed", "half_open", "open"];

function worseOf(a: ServerRow, b: ServerRow): ServerRow {
  const base = UPSTREAM_STATES.indexOf(b.state) > UPSTREAM_STATES.indexOf(a.state) ? b : a;
  return {
    ...base,
    circuit: CIRCUITS.indexOf(b.circuit) > CIRCUITS.indexOf(a.circuit) ? b.circuit : a.circuit,
    inFlight: a.inFlight + b.inFlight,
    waiting: a.waiting + b.waiting,
    calls: a.calls + b.calls,
    restarts: a.restarts + b.restarts,
  };
}

/** The sums over all workers for each time step that all of them have; percentiles cannot be added, so the largest is shown. */
export function history(answers: WorkerAnswers<History>): History {
  const pages = answers.map(({ body }) => body);
  const { step, at: times } = answers[0].body;
  const last = Math.min(...pages.map(({ at }) => at.at(-1) ?? 0));
  const at = times.filter((time) => time <= last);
  const merged = (
    member: Exclude<keyof History, "step" | "at">,
    together: (values: readonly number[]) => number,
  ): readonly number[] =>
    at.map((time) => together(pages.map((page) => page[member][page.at.indexOf(time)] ?? 0)));
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const max = (values: readonly number[]): number => Math.max(...values);
  return {
    step,
    at,
    calls: merged("calls", sum),
    errors: merged("errors", sum),
    waits: merged("waits", sum),
    p50: merged("p50", max),
    p95: merged("p95", max),
  };
}
