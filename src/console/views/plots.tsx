/** Charts of the last hour, and the token cost of each server's tools. */
import { useMemo } from "preact/hooks";
import type { History } from "../../features/admin/rows.js";
import { grouped, msOf, perSecond } from "../format.js";
import { countsTokens, type ShownServer } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { usePage } from "../state/page.js";
import { useStore } from "../state/store.js";
import { Empty, Panel, ViewTitle } from "../ui/panel.js";
import { Chart } from "./chart.js";

/** The history has one value per 10 s. */
const STEP_MS = 10_000;

/** Rate, errors, latency, waits, tokens. */
export function PlotsView() {
  const { servers, at } = useStore(gateway);
  const { page, trouble } = usePage<History>("history", Math.floor(at / STEP_MS));
  const plots = useMemo(() => (page === undefined ? undefined : plotsOf(page)), [page]);
  return (
    <>
      <ViewTitle title="Plots">The last hour, in steps of {(page?.step ?? STEP_MS) / 1_000} s</ViewTitle>
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
    </>
  );
}

function plotsOf({ step, at, calls, errors, p50, p95, waits }: History) {
  const rates = calls.map((count) => (count === null ? null : (1_000 * count) / step));
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
      series: [{ label: "for a slot or an answer", colour: "--info", values: waits }],
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
