/** What token counts add to the admin API: a page, and a member of the rows of servers. */
import { z } from "zod";
import type { ServerMembers, WorkerAnswers } from "../../core/admin-page.js";
import { PRINCIPAL_QUERY, page, type Shown, typed } from "../../http/page-schema.js";

const anything = z.looseObject({});

const report = typed<{
  readonly endpoints: readonly object[];
  readonly tools: readonly { readonly name: string; readonly calls?: number }[];
  readonly savings: readonly { readonly key?: string; readonly tokens?: number; readonly results?: number }[];
  readonly counted?: { readonly since: string; readonly seconds: number };
}>(z.looseObject({ endpoints: z.array(anything), tools: z.array(anything), savings: z.array(anything) }));
type Report = Shown<z.output<typeof report>>;

/** `GET /api/v1/tokens`. */
export const PAGE = page({
  path: "tokens",
  summary: "What the definitions of tools cost a model",
  query: PRINCIPAL_QUERY,
  schema: report,
  merge: mergeReports,
  waits: true,
  behind: { inDocument: "explain", inList: "lists" },
});

/** The tokens of the definitions of a server's tools. */
export const SERVER_MEMBERS: ServerMembers = {
  schemas() {
    const { $schema: _, ...tokens } = z.toJSONSchema(z.int().min(0));
    return { tokens };
  },
};

/** The report of the first worker, with the calls and savings in results of all; a tool without known calls in one worker has none. */
function mergeReports(answers: WorkerAnswers<Report>): Report {
  const reports = answers.map(({ body }) => body);
  const counts = new Map<string, number>();
  for (const { name, calls: count } of reports.flatMap(({ tools }) => tools)) {
    counts.set(name, (counts.get(name) ?? 0) + (count ?? Number.NaN));
  }
  const tools = answers[0].body.tools.map((tool) => {
    const { calls: _, ...rest } = tool;
    const count = counts.get(tool.name) ?? Number.NaN;
    return Number.isNaN(count) ? rest : { ...rest, calls: count };
  });
  // A restarted worker has lost earlier calls.
  const counted = reports.flatMap((each) => each.counted ?? []).toSorted((a, b) => a.seconds - b.seconds)[0];
  return {
    ...answers[0].body,
    tools,
    savings: mergedSavings(reports),
    ...(counted !== undefined && { counted }),
  };
}

/** Lists are the same in each worker, results are not. */
function mergedSavings(reports: readonly Report[]): Report["savings"] {
  const merged = new Map<string, Report["savings"][number]>();
  for (const saving of reports.flatMap(({ savings }) => savings)) {
    const { key = "", tokens = 0, results } = saving;
    const before = merged.get(key);
    if (before === undefined) merged.set(key, saving);
    else if (results !== undefined)
      merged.set(key, {
        ...before,
        tokens: tokens + (before.tokens ?? 0),
        results: results + (before.results ?? 0),
      });
  }
  return [...merged.values()];
}
