/** Calls as rows: how each ended stands before its name, so that it is seen without scrolling. */

import type { CallRow } from "../../features/admin/rows.js";
import { msOf, timeOf } from "../format.js";
import { keyOf } from "../state/calls.js";
import { hrefOf } from "../state/route.js";
import { StateBadge } from "../ui/badge.js";
import { Row, Table } from "../ui/panel.js";

interface CallsTableProps {
  readonly label: string;
  readonly rows: readonly CallRow[];
  /** The row that is shown in detail beside the table, which leaves room for fewer columns. */
  readonly chosen?: CallRow | undefined;
}

/** Each row leads to its call. */
export function CallsTable({ label, rows, chosen }: CallsTableProps) {
  const isWide = chosen === undefined;
  return (
    <Table
      label={label}
      kind="stack"
      columns={["Time", "Outcome", "Target", ...(isWide ? ["Server", "Principal", "Host"] : []), "#Took"]}
    >
      {rows.map((row) => (
        <Row key={keyOf(row)} href={hrefOf("calls", keyOf(row))} isChosen={row === chosen}>
          <td>{timeOf(row.at)}</td>
          <td>
            <StateBadge state={row.outcome} />
          </td>
          <td class="target">
            <a href={hrefOf("calls", keyOf(row))}>
              <code>{row.target || row.method}</code>
            </a>
          </td>
          {isWide &&
            [row.server, row.principal, row.host].map((text, column) => (
              // The columns have no other identity.
              <td key={column} class="aside" title={text}>
                {text || "–"}
              </td>
            ))}
          <td class="number">{msOf(row.ms.total)}</td>
        </Row>
      ))}
    </Table>
  );
}
