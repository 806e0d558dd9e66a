/** The policy: its rules and limits, recent decisions, and a form that explains a call. */
import { useState } from "preact/hooks";
import { timeOf } from "../format.js";
import type { DecisionRow } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { hasPage } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { StateBadge } from "../ui/badge.js";
import { Empty, Panel, Table, ViewTitle } from "../ui/panel.js";
import { Approvals } from "./approvals.js";
import { ExplainPanel } from "./explain.js";
import { PolicyRules } from "./policy-rules.js";

const MOST_SHOWN = 200;

/** Rules, decisions, and the form that explains a call. */
export function PolicyView({ item }: { readonly item: string | undefined }) {
  const state = useStore(gateway);
  const [wanted, setWanted] = useState("");
  const found = state.decisions.filter((row) => matches(row, wanted.toLowerCase()));
  const search = (
    <label class="search">
      <span class="hidden">Search decisions</span>
      <input
        type="search"
        placeholder="Filter"
        autocomplete="off"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
    </label>
  );
  return (
    <>
      <ViewTitle title="Policy">The rules in order, and what they decided</ViewTitle>
      {hasPage(state, "policy") && <PolicyRules chosen={item} />}
      {hasPage(state, "explain") && <ExplainPanel />}
      {hasPage(state, "approvals") && <Approvals />}
      <Panel title="Decisions" aside={search}>
        {found.length === 0 ? (
          <Empty
            title={
              state.decisions.length === 0 ? "No rule has decided anything yet." : "No decision matches."
            }
          />
        ) : (
          <Table
            label="Decisions"
            kind="stack"
            columns={["Time", "Decision", "Rule", "Target", "Principal", "About"]}
          >
            {found.slice(0, MOST_SHOWN).map((row) => (
              <tr key={`${row.time} ${row.call} ${row.on} ${row.rule} ${row.answer ?? ""}`}>
                <td>{timeOf(row.time)}</td>
                <td>
                  <StateBadge state={row.effect} />
                  {row.answer !== undefined && <small class="quiet">{` ${row.answer}`}</small>}
                </td>
                <td>{row.failed === undefined ? row.rule : `${row.rule} (${row.failed})`}</td>
                <td class="target">
                  <code>{row.target}</code>
                </td>
                <td>{row.principal}</td>
                <td>{row.on === "call" ? row.method : `${row.on} asked by ${row.server}`}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
    </>
  );
}

const matches = ({ target, principal, rule, effect, server }: DecisionRow, wanted: string): boolean =>
  [target, principal, rule, effect, server].some((text) => text.toLowerCase().includes(wanted));
