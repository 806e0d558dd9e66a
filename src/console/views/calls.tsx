/** The live list of calls, with filters and a detail view. */
import { useState } from "preact/hooks";
import type { CallRow, RunningCall } from "../../features/admin/rows.js";
import { grouped, spanOf } from "../format.js";
import { calls, keyOf } from "../state/calls.js";
import { gateway } from "../state/gateway.js";
import { hasAction } from "../state/gateway-state.js";
import { isFailed } from "../state/server-calls.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Badge } from "../ui/badge.js";
import { Empty, Panel, Table, ViewTitle } from "../ui/panel.js";
import { CallDetail } from "./call-detail.js";
import { CallsTable } from "./calls-table.js";

const MOST_SHOWN = 200;
const FILTERS = ["principal", "server", "target", "outcome"] as const;
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;
const NO_FILTER: Filters = { principal: "", server: "", target: "", outcome: "" };

/** The live list. A paused list does not change while new calls are collected. */
export function CallsView({ item }: { readonly item: string | undefined }) {
  const { rows, isLive } = useStore(calls);
  const { running } = useStore(gateway);
  const [filters, setFilters] = useState(NO_FILTER);
  const [isOfFailed, setOfFailed] = useState(false);
  const [paused, setPaused] = useState<readonly CallRow[]>();
  const shown = paused ?? rows;
  const found = shown.filter(
    (row) =>
      (!isOfFailed || isFailed(row)) &&
      FILTERS.every((name) => row[name].toLowerCase().includes(filters[name].toLowerCase())),
  );
  const chosen = shown.find((row) => keyOf(row) === item) ?? rows.find((row) => keyOf(row) === item);
  return (
    <>
      <ViewTitle title="Calls">The last calls of all hosts, newest first</ViewTitle>
      {running.length > 0 && <Running running={running} />}
      <div class={`split wide-list ${chosen === undefined ? "" : "has-detail"}`}>
        <section class="card list" aria-label="Calls">
          <div class="filters">
            {FILTERS.map((name) => (
              <input
                key={name}
                type="search"
                aria-label={`Filter by ${name}`}
                placeholder={name}
                autocomplete="off"
                spellcheck={false}
                value={filters[name]}
                onInput={(event) => setFilters({ ...filters, [name]: event.currentTarget.value })}
              />
            ))}
            <button type="button" aria-pressed={isOfFailed} onClick={() => setOfFailed(!isOfFailed)}>
              {`Failed ${grouped(shown.filter(isFailed).length)}`}
            </button>
            <button
              type="button"
              aria-pressed={paused !== undefined}
              onClick={() => setPaused(paused === undefined ? rows : undefined)}
            >
              {paused === undefined ? "Pause" : "Go on"}
            </button>
            <Badge tone={isLive && paused === undefined ? "good" : "quiet"}>
              {paused !== undefined ? "paused" : isLive ? "live" : "not live"}
            </Badge>
          </div>
          {found.length === 0 ? (
            <Empty title={rows.length === 0 ? "No call yet." : "No call matches."}>
              {rows.length === 0 ? "Calls appear here within a second." : "Clear a filter to see more."}
            </Empty>
          ) : (
            <CallsTable label="Calls" rows={found.slice(0, MOST_SHOWN)} chosen={chosen} />
          )}
        </section>
        {chosen !== undefined && <CallDetail call={chosen} />}
      </div>
    </>
  );
}

function Running({ running }: { readonly running: readonly RunningCall[] }) {
  const canCancel = hasAction(gateway.state, "calls/*/cancel");
  return (
    <Panel title="Under way">
      <Table
        label="Calls under way"
        kind="stack"
        columns={["Target", "Server", "Principal", "#For", ...(canCancel ? [" "] : [])]}
      >
        {running.map((call) => (
          <tr key={keyOf(call)}>
            <td class="target">
              <code>{call.target || call.method}</code>
            </td>
            <td>{call.server || "–"}</td>
            <td>{call.principal}</td>
            <td class="number">{spanOf((Date.now() - new Date(call.startedAt).getTime()) / 1000)}</td>
            {canCancel && (
              <td class="number">
                <ActionButton
                  label="Cancel call"
                  question={`Cancels the call of ${call.target || call.method}.`}
                  action={`calls/${call.id}/cancel`}
                  body={call.worker === undefined ? {} : { worker: call.worker }}
                  isDangerous
                />
              </td>
            )}
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
