/** The page of kept results: who has which, and how large, without their content. */
import { z } from "zod";
import { rows } from "../../core/admin-page.js";
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
