/** Merges the calls, the history and the token reports of several workers. */
import { readCallQuery } from "../admin/call-rows.js";
import { isObject, type JsonObject } from "../wire/json.js";

/** The rows of all workers, each with its worker, the newest first. */
export function mergeCalls(
  answers: readonly { readonly worker: number; readonly rows: readonly JsonObject[] }[],
  query: URLSearchParams,
): readonly JsonObject[] {
  const all = answers.flatMap(({ worker, rows }) => rows.map((row): JsonObject => ({ ...row, worker })));
  return all.toSorted((a, b) => Number(b.at) - Number(a.at)).slice(0, readCallQuery(query).limit);
}

const SUMS = ["calls", "errors", "waits"];
/** The maximum of percentiles is shown: percentiles cannot be added. */
const MAXIMA = ["p50", "p95"];

/** The sums over all workers for each time step that all of them have. */
export function mergeHistories(pages: readonly JsonObject[]): JsonObject {
  const last = Math.min(...pages.map(({ at }) => numbersOf(at).at(-1) ?? 0));
  const [first] = pages;
  const at = numbersOf(first?.at).filter((time) => time <= last);
  const merged = (member: string, together: (values: readonly number[]) => number): readonly number[] =>
    at.map((time) =>
      together(pages.map((page) => numbersOf(page[member])[numbersOf(page.at).indexOf(time)] ?? 0)),
    );
  return {
    step: first?.step,
    at,
    ...Object.fromEntries(SUMS.map((name) => [name, merged(name, (all) => all.reduce((a, b) => a + b, 0))])),
    ...Object.fromEntries(MAXIMA.map((name) => [name, merged(name, (all) => Math.max(...all))])),
  };
}

const numbersOf = (list: unknown): readonly number[] =>
  Array.isArray(list) ? list.filter((value) => typeof value === "number") : [];

/** The report of the first worker, with the calls of all; a tool without known calls in one worker has none. */
export function mergeTokenReports(reports: readonly JsonObject[]): JsonObject {
  const [first = {}] = reports;
  const calls = new Map<unknown, number>();
  for (const tool of reports.flatMap(toolsOf)) {
    const known = calls.get(tool.name) ?? 0;
    calls.set(tool.name, known + (typeof tool.calls === "number" ? tool.calls : Number.NaN));
  }
  const tools = toolsOf(first).map((tool) => {
    const { calls: _, ...rest } = tool;
    const count = calls.get(tool.name) ?? Number.NaN;
    return Number.isNaN(count) ? rest : { ...rest, calls: count };
  });
  // A restarted worker has lost earlier calls.
  const counted = reports.map((report) => report.counted).filter(isObject);
  const latest = counted.toSorted((a, b) => Number(a.seconds) - Number(b.seconds))[0];
  return { ...first, tools, ...(latest !== undefined && { counted: latest }) };
}

const toolsOf = ({ tools }: JsonObject): readonly JsonObject[] =>
  Array.isArray(tools) ? tools.filter(isObject) : [];
