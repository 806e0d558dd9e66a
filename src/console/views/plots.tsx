/** Charts of the last hour or less, of all calls or of one server's; the token cost of each server's tools; kept results. */
import { useMemo, useState } from "preact/hooks";
import type { History } from "../../features/admin/rows.js";
import { grouped, msOf, perSecond } from "../format.js";
import { countsTokens, type ShownServer } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { hasPage } from "../state/gateway-state.js";
import { usePage } from "../state/page.js";
import { useStore } from "../state/store.js";
import { Empty, Panel, ViewTitle } from "../ui/panel.js";
import { Chart } from "./chart.js";
import { KeptResults } from "./kept-results.js";

/** The history has one value per 10 s. */
const STEP_MS = 10_000;
/** What can be shown, in minutes. */
const RANGES = [10, 30, 60];

/** Rate, errors, latency, waits, tokens, kept results. */
export function PlotsView() {
  const state = useStore(gateway);
  const { servers, at } = state;
  const [server, setServer] = useState("");
  const [minutes, setMinutes] = useState(60);
  const name = server === "" ? "history" : `history?server=${encodeURIComponent(server)}`;
  const { page, trouble } = usePage<History>(name, Math.floor(at / STEP_MS));
  const plots = useMemo(
    () => (page === undefined ? undefined : plotsOf(lastMinutes(page, minutes))),
    [page, minutes],
  );
  return (
    <>
      <ViewTitle title="Plots">
        In steps of {(page?.step ?? STEP_MS) / 1_000} s; a gap: nothing was recorded
      </ViewTitle>
      <div class="filters">
        <select aria-label="Server" value={server} onChange={(event) => setServer(event.currentTarget.value)}>
          <option value="">All calls</option>
          {servers.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
        <fieldset class="ranges" aria-label="Range">
          {RANGES.map((range) => (
            <button
              key={range}
              type="button"
              aria-pressed={range === minutes}
              onClick={() => setMinutes(range)}
            >
              {range === 60 ? "1 h" : `${range} min`}
            </button>
          ))}
        </fieldset>
      </div>
      {plots === undefined ? (
        <Empty title={trouble ?? "Reading the history …"} />
      ) : (
        <div class="grid">
          {plots.map((plot) => (
            <Chart key={plot.title} {...plot} />
          ))}
        </div>
      )}
      {countsTokens(servers) && <Tokens servers={servers} />}
      {hasPage(state, "results/tools") && <KeptResults version={at} />}
    </>
  );
}

/** The end of the columns. */
function lastMinutes(page: History, minutes: number): History {
  const steps = -Math.round((minutes * 60_000) / page.step);
  return {
    ...page,
    at: page.at.slice(steps),
    calls: page.calls.slice(steps),
    errors: page.errors.slice(steps),
    p50: page.p50.slice(steps),
    p95: page.p95.slice(steps),
    waits: page.waits.slice(steps),
  };
}

function plotsOf({ step, at, calls, errors, p50, p95, waits, since = 0 }: History) {
  // Before that nothing was recorded, which is something else than no call.
  const recorded = (values: readonly number[]): readonly (number | null)[] =>
    values.map((value, index) => ((at[index] ?? 0) + step <= since ? null : value));
  const rates = recorded(calls).map((count) => (count === null ? null : (1_000 * count) / step));
  // A step without calls has no latency.
  const measured = (values: readonly (number | null)[]): readonly (number | null)[] =>
    values.map((value, index) => (calls[index] ? value : null));
  const share = calls.map((count, index) => (count ? (100 * (errors[index] ?? 0)) / count : null));
  return [
    {
      title: "Calls",
      at,
      write: perSecond,
      series: [{ label: "calls", colour: "--accent", values: rates }],
    },
    {
      title: "Errors",
      at,
      write: (value: number) => `${Math.round(value)} %`,
      series: [{ label: "failed", colour: "--bad", values: share }],
    },
    {
      title: "Latency",
      at,
      write: msOf,
      series: [
        { label: "median", colour: "--accent", values: measured(p50) },
        { label: "95 %", colour: "--warn", values: measured(p95) },
      ],
    },
    {
      title: "Calls that waited",
      at,
      isWhole: true,
      write: (value: number) => String(Math.round(value)),
      series: [{ label: "for a slot or an answer", colour: "--info", values: recorded(waits) }],
    },
  ];
}

function Tokens({ servers }: { readonly servers: readonly ShownServer[] }) {
  const rows = servers.map(({ name, tokens = 0 }) => ({ name, tokens })).sort((a, b) => b.tokens - a.tokens);
  const most = Math.max(1, ...rows.map(({ tokens }) => tokens));
  return (
    <Panel title="Tokens of the lists">
      {rows.length === 0 && <Empty title="No server is configured." />}
      <ul class="bars">
        {rows.map(({ name, tokens }) => (
          <li key={name}>
            <span class="label">{name}</span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class="track" width="100" height="10" />
              <rect class="value" width={(100 * tokens) / most} height="10" />
            </svg>
            <span class="number">{grouped(tokens)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
