/** How the pages of several workers become one. */
import { type WorkerAnswers, withWorkers } from "../../core/admin-page.js";
import { UPSTREAM_STATES } from "../../core/upstream.js";
import { readCallQuery } from "./call-rows.js";
import { sorted, worseOf as worseProblemOf } from "./problem-order.js";
import { failedOf } from "./problem-rows.js";
import type { CallRow, History, ProblemRow, ServerRow } from "./rows.js";

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

/** One row per problem, with the sums of its figures: each worker counts its own calls. */
export function problems(answers: WorkerAnswers<readonly ProblemRow[]>): readonly ProblemRow[] {
  const merged = new Map<string, ProblemRow>();
  for (const row of answers.flatMap(({ body }) => body)) {
    const before = merged.get(row.id);
    merged.set(row.id, before === undefined ? row : sameProblem(before, row));
  }
  return sorted([...merged.values()]);
}

function sameProblem(a: ProblemRow, b: ProblemRow): ProblemRow {
  const since = [a.since, b.since].flatMap((at) => at ?? []).sort()[0];
  const count = (a.count ?? 0) + (b.count ?? 0);
  const worse = worseProblemOf(a, b);
  return {
    ...worse,
    ...(since !== undefined && { since }),
    ...(count > 0 && { count }),
    ...(a.figures !== undefined && b.figures !== undefined && withSums(worse, a.figures, b.figures)),
  };
}

type Figures = NonNullable<ProblemRow["figures"]>;

/** The text has the figures of one worker. */
function withSums(
  { text, figures }: ProblemRow,
  a: Figures,
  b: Figures,
): Pick<ProblemRow, "text" | "figures"> {
  const sums = { ...a, failed: a.failed + b.failed, calls: a.calls + b.calls };
  const own = figures === undefined ? undefined : failedOf(figures);
  return { figures: sums, text: own === undefined ? text : text.replace(own, failedOf(sums)) };
}

const CIRCUITS = ["closed", "half_open", "open"];

function worseOf(a: ServerRow, b: ServerRow): ServerRow {
  const base = UPSTREAM_STATES.indexOf(b.state) > UPSTREAM_STATES.indexOf(a.state) ? b : a;
  return {
    ...base,
    circuit: CIRCUITS.indexOf(b.circuit) > CIRCUITS.indexOf(a.circuit) ? b.circuit : a.circuit,
    inUse: a.inUse || b.inUse,
    inFlight: a.inFlight + b.inFlight,
    waiting: a.waiting + b.waiting,
    calls: a.calls + b.calls,
    restarts: a.restarts + b.restarts,
  };
}

/** The history is complete from where each worker records. */
const since = (pages: readonly History[]) => {
  const known = pages.flatMap((page) => page.since ?? []);
  return known.length === 0 ? {} : { since: Math.max(...known) };
};

/** The sums over all workers for each time step that all of them have; percentiles cannot be added, so the largest is shown. */
export function history(answers: WorkerAnswers<History>): History {
  const pages = answers.map(({ body }) => body);
  const { step, at: times } = answers[0].body;
  const last = Math.min(...pages.map(({ at }) => at.at(-1) ?? 0));
  const at = times.filter((time) => time <= last);
  const merged = (
    member: Exclude<keyof History, "step" | "at" | "since">,
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
    ...since(pages),
  };
}
