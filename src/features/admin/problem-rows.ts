/** How a problem becomes a row: its id, its times as ISO 8601, and the buttons that fix it. */
import type { ProblemRow } from "./rows.js";

/** Facts that only some problems have. */
export interface RowFacts extends Pick<ProblemRow, "text" | "actions" | "figures" | "principal" | "rule"> {
  /** In ms since 1970. */
  readonly since?: number | undefined;
  readonly count?: number | undefined;
  /** What distinguishes it from others of the kind at the server. */
  readonly id?: string;
}

/** The row of a problem with one server. */
export const rowOf = (
  kind: ProblemRow["kind"],
  severity: ProblemRow["severity"],
  server: string,
  facts: RowFacts,
): ProblemRow => {
  const { id, ...others } = facts;
  const own = id === undefined ? [] : [id];
  const {
    id: whole,
    kind: _,
    severity: __,
    ...row
  } = rowOfGateway(kind, severity, [server, ...own].join(":"), others);
  return { id: whole, kind, severity, server, ...row };
};

/** The row of a problem with no server, or with several. */
export const rowOfGateway = (
  kind: ProblemRow["kind"],
  severity: ProblemRow["severity"],
  id: string,
  { since, count, ...facts }: Omit<RowFacts, "id">,
): ProblemRow => ({
  ...{ id: `${kind}:${id}`, kind, severity },
  ...facts,
  ...(since !== undefined && { since: new Date(since).toISOString() }),
  ...(count !== undefined && { count }),
});

/** The button that restarts a server. */
export const restart = (name: string, label: string) => ({
  ...{ kind: "restart" as const, label, path: `servers/${encodeURIComponent(name)}/restart` },
});

/** The command that names what is wrong in the config. */
export const CHECK = { kind: "check" as const, label: "Check the config", command: "cardea check" };

/** The figures as they stand in the text of a row. */
export const failedOf = ({ failed, calls }: NonNullable<ProblemRow["figures"]>): string =>
  `${failed} of ${calls} calls`;
