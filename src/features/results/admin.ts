/** The pages of kept results: who has which, and how large, without their content. */
import { z } from "zod";
import { rows, type WorkerAnswers } from "../../core/admin-page.js";
import { idOfKey } from "../../core/principal.js";
import { page } from "../../http/page-schema.js";
import type { KeptResults } from "./kept-results.js";

const count = z.int().min(0);

/** The page. */
export const PAGE = page({
  path: "results",
  summary: "Results that were over their budget and are kept, without their content",
  schema: z.array(
    z.object({
      time: z.iso.datetime(),
      principal: z.string(),
      server: z.string(),
      tool: z.string(),
      bytes: count,
      expiresInMs: count,
      worker: count.optional(),
    }),
  ),
  merge: rows,
});

const sums = z.array(
  z.object({
    server: z.string(),
    tool: z.string(),
    results: count,
    bytes: count,
    lastKeptAt: z.iso.datetime(),
    lastReadAt: z.iso.datetime().optional(),
  }),
);
type Sums = z.output<typeof sums>;

/** How much of which tool is kept, by all processes and for all principals. */
export const SUMS_PAGE = page({
  path: "results/tools",
  summary: "How many results of each tool are kept, their bytes, and when one was kept and read last",
  schema: sums,
  merge: (answers: WorkerAnswers<Sums>) => added(answers.flatMap(({ body }) => body)),
});

const MAX_ROWS = 1_000;

/** The rows of one process, the newest first. */
export const rowsOf = (kept: KeptResults) =>
  kept
    .all()
    .slice(0, MAX_ROWS)
    .map(({ at, principal, server, tool, members, expiresAt }) => ({
      time: new Date(at).toISOString(),
      principal: idOfKey(principal),
      ...{ server, tool },
      bytes: members.length,
      expiresInMs: Math.max(0, Math.round(expiresAt - performance.now())),
    }));

/** The sums of one process, those with most bytes first. */
export const sumsOf = (kept: KeptResults): Sums =>
  added(
    kept.all().map(({ at, readAt, server, tool, members }) => ({
      ...{ server, tool, results: 1 },
      bytes: members.length,
      lastKeptAt: new Date(at).toISOString(),
      ...(readAt !== undefined && { lastReadAt: new Date(readAt).toISOString() }),
    })),
  );

/** One row for each tool. */
function added(parts: Sums): Sums {
  const byTool = new Map<string, Sums[number]>();
  for (const part of parts) {
    const key = `${part.server}\0${part.tool}`;
    const before = byTool.get(key);
    byTool.set(key, before === undefined ? part : sumOf(before, part));
  }
  return [...byTool.values()].sort((a, b) => b.bytes - a.bytes).slice(0, MAX_ROWS);
}

function sumOf(a: Sums[number], b: Sums[number]): Sums[number] {
  const lastReadAt = latest(a.lastReadAt, b.lastReadAt);
  return {
    ...a,
    results: a.results + b.results,
    bytes: a.bytes + b.bytes,
    lastKeptAt: latest(a.lastKeptAt, b.lastKeptAt) ?? a.lastKeptAt,
    ...(lastReadAt !== undefined && { lastReadAt }),
  };
}

/** Of two ISO times. */
const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;
