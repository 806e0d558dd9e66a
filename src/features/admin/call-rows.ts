/** Filters and formats calls for operators. */

import { BadQuery } from "../../core/admin-page.js";
import type { CallRow as FinishedCall } from "../../telemetry/call-history.js";
import type { CallRow } from "./rows.js";

/** Maximum rows of a page. */
const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;
const WORDS = ["principal", "server", "tool", "outcome"] as const;

/** The filter of a query. */
export interface CallQuery {
  readonly limit: number;
  readonly matches: (row: Pick<FinishedCall, "principal" | "server" | "target" | "outcome">) => boolean;
}

/** Reads `limit`, `principal`, `server`, `tool` (the exposed name) and `outcome`. @throws BadQuery */
export function readCallQuery(query: URLSearchParams): CallQuery {
  const asked = query.get("limit");
  const limit = asked === null ? DEFAULT_LIMIT : Number(asked);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new BadQuery(`limit=… is a whole number from 1 to ${MAX_LIMIT}`);
  }
  const [principal, server, tool, outcome] = WORDS.map((word) => query.get(word) ?? undefined);
  const fits = (wanted: string | undefined, value: string): boolean =>
    wanted === undefined || wanted === value;
  return {
    limit,
    matches: (row) =>
      fits(principal, row.principal) &&
      fits(server, row.server) &&
      fits(tool, row.target) &&
      fits(outcome, row.outcome),
  };
}

/** A row for JSON: times in ms with three decimals. */
export const shownCall = ({ ms, ...row }: FinishedCall): CallRow => ({
  ...row,
  at: Math.round(row.at),
  ms: {
    total: rounded(ms.total),
    queue: rounded(ms.queue),
    policy: rounded(ms.policy),
    upstream: rounded(ms.upstream),
    input: rounded(ms.input),
  },
});

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
