/** Merges the token reports of several workers. Definitions are the same in each, and calls are added. */
import { isObject, type JsonObject } from "../wire/json.js";

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
