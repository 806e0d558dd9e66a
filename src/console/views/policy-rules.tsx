/** The rules and limits in effect, in order, each with how often it has applied. */
import { timeOf } from "../format.js";
import type { LimitRow, PolicyPage, RateRow, RuleRow } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { usePage } from "../state/page.js";
import { useStore } from "../state/store.js";
import { StateBadge } from "../ui/badge.js";
import { Empty, Panel, Table } from "../ui/panel.js";

/** Reloaded with every poll of the gateway. */
export function PolicyRules({ chosen }: { readonly chosen: string | undefined }) {
  const state = useStore(gateway);
  const { page } = usePage<PolicyPage>("policy", state.at);
  if (page === undefined) return null;
  return (
    <>
      <Panel title="Rules">
        {page.rules.length === 0 ? (
          <Empty title={`There is no rule; the default is ${page.default}.`} />
        ) : (
          <Table label="Rules" kind="stack" columns={["Rule", "Effect", "Matches", "Hits", "Last hit"]}>
            {page.rules.map((row) => (
              <tr key={row.name} class={row.name === chosen ? "chosen" : ""}>
                <th scope="row">{row.name}</th>
                <td>
                  <StateBadge state={row.effect} />
                </td>
                <MatchesCell row={row} />
                <HitCells row={row} />
              </tr>
            ))}
            <tr>
              <th scope="row">default</th>
              <td>
                <StateBadge state={page.default} />
              </td>
              <td class="quiet">what no rule matches</td>
              <td />
              <td />
            </tr>
          </Table>
        )}
      </Panel>
      {page.limits.length > 0 && (
        <Panel title="Limits">
          <Table label="Limits" kind="stack" columns={["Limit", "Bound", "Matches", "Hits", "Last hit"]}>
            {page.limits.map((row) => (
              <tr key={row.name} class={row.name === chosen ? "chosen" : ""}>
                <th scope="row">{row.name}</th>
                <td>{boundOf(row)}</td>
                <MatchesCell row={row} />
                <HitCells row={row} />
              </tr>
            ))}
          </Table>
        </Panel>
      )}
    </>
  );
}

function MatchesCell({ row: { on, matches } }: { readonly row: RuleRow | LimitRow }) {
  const parts = Object.entries(matches);
  return (
    <td class="target">
      {on !== "call" && <div>{`questions: ${on}`}</div>}
      {parts.length === 0 && <span class="quiet">{on === "call" ? "every call" : "all of them"}</span>}
      {parts.map(([key, value]) => (
        <div key={key}>
          <small class="quiet">{`${key} `}</small>
          <code>{textOf(value)}</code>
        </div>
      ))}
    </td>
  );
}

function HitCells({ row: { hits, lastHitAt } }: { readonly row: RuleRow | LimitRow }) {
  return hits === 0 ? (
    <>
      <td class="warn">never matched</td>
      <td />
    </>
  ) : (
    <>
      <td>{hits.toLocaleString("en-GB")}</td>
      <td>{lastHitAt === undefined ? "" : timeOf(lastHitAt)}</td>
    </>
  );
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : JSON.stringify(value);

function boundOf({ rate, quota, concurrency, timeoutMs, per }: LimitRow): string {
  const bounds = [
    ...(rate === undefined ? [] : [rateText(rate)]),
    ...(quota === undefined ? [] : [`${rateText(quota)}, fixed`]),
    ...(concurrency === undefined ? [] : [`${concurrency} at a time`]),
    ...(timeoutMs === undefined ? [] : [`timeout ${timeoutMs / 1000} s`]),
  ];
  return `${bounds.join("; ")}${per === "all" ? "" : ` per ${per}`}`;
}

const rateText = ({ count, windowMs }: RateRow): string => `${count} in ${windowMs / 1000} s`;
