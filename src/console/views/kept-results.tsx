/** Results that were over their budget and are kept: how many and how large, by tool, without their content. */
import { countOf, grouped, sizeOf, timeOf } from "../format.js";
import type { KeptResultsRow } from "../state/feature-rows.js";
import { usePage } from "../state/page.js";
import { Panel, Table } from "../ui/panel.js";

/** Nothing while no result is kept. @param version the page is read again when it changes */
export function KeptResults({ version }: { readonly version: number }) {
  const { page: rows = [] } = usePage<readonly KeptResultsRow[]>("results/tools", version);
  if (rows.length === 0) return null;
  const sum = (of: (row: KeptResultsRow) => number): number =>
    rows.reduce((total, row) => total + of(row), 0);
  const all = `${countOf(
    sum(({ results }) => results),
    "result",
  )}, ${sizeOf(sum(({ bytes }) => bytes))}`;
  return (
    <Panel title="Kept results" aside={<p class="quiet">{all}</p>}>
      <Table
        label="Kept results"
        kind="stack"
        columns={["Tool", "Server", "#Results", "#Size", "Last kept", "Last read"]}
      >
        {rows.map(({ server, tool, results, bytes, lastKeptAt, lastReadAt }) => (
          <tr key={`${server} ${tool}`}>
            <th scope="row" class="target">
              <code>{tool}</code>
            </th>
            <td>{server}</td>
            <td class="number" data-label="results">
              {grouped(results)}
            </td>
            <td class="number" data-label="size">
              {sizeOf(bytes)}
            </td>
            <td data-label="kept">{timeOf(lastKeptAt)}</td>
            <td data-label="read" class={lastReadAt === undefined ? "quiet" : ""}>
              {lastReadAt === undefined ? "never" : timeOf(lastReadAt)}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
