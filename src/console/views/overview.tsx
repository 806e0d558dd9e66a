/** The overview: problems, the topology of hosts and servers, and the numbers. */
import { countOf, grouped, timeOf } from "../format.js";
import { calls } from "../state/calls.js";
import { countsTokens, isWaiting } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { type GatewayState, hasPage } from "../state/gateway-state.js";
import { type Problem, pressing, problemsIn } from "../state/problems.js";
import { hrefOf } from "../state/route.js";
import { useStore } from "../state/store.js";
import { StateBadge } from "../ui/badge.js";
import { Icon } from "../ui/icon.js";
import { Empty, Panel, Table, ViewTitle } from "../ui/panel.js";
import { CallsTable } from "./calls-table.js";
import { ProblemList } from "./problem-list.js";
import { Topology } from "./topology.js";

const SHOWN_CALLS = 6;

/** The first view. */
export function Overview() {
  const state = useStore(gateway);
  const { rows } = useStore(calls);
  return (
    <>
      <ViewTitle title="Overview" />
      <Problems state={state} />
      <Numbers state={state} />
      <Topology state={state} calls={rows} />
      {hasPage(state, "calls") ? <LastCalls rows={rows} /> : <LastDecisions state={state} />}
    </>
  );
}

function Problems({ state }: { readonly state: GatewayState }) {
  const problems: readonly Problem[] = problemsIn(state);
  if (pressing(problems).length > 0) return <ProblemList problems={problems} />;
  const { status, servers } = state;
  const isReady = status?.ready !== false;
  return (
    <>
      <p class={`verdict ${isReady ? "good" : "warn"}`}>
        <Icon name={isReady ? "ok" : "alert"} />
        {!isReady
          ? `Not ready: ${status.reasons.join("; ")}`
          : servers.length === 0
            ? "The gateway runs; no server is configured."
            : `Nothing is wrong: ${countOf(servers.length, "server")}.`}
      </p>
      {problems.length > 0 && <ProblemList problems={problems} />}
    </>
  );
}

function Numbers({ state }: { readonly state: GatewayState }) {
  const { servers, catalog, sessions, questions, approvals } = state;
  const sum = (of: (server: (typeof servers)[number]) => number | undefined): number =>
    servers.reduce((total, server) => total + (of(server) ?? 0), 0);
  const isWrong = pressing(problemsIn(state)).length > 0;
  const up = servers.filter(({ state: its }) => its === "ready" || its === "idle").length;
  const tokens = ["Tokens of the tools", grouped(sum(({ tokens }) => tokens)), "tools"] as const;
  const numbers: readonly (readonly [string, string, string])[] = [
    ["Servers", `${up}/${servers.length}`, "servers"],
    ["Tools for each host", grouped(catalog.tools.length), "tools"],
    ...(countsTokens(servers) ? [tokens] : []),
    ["Sessions", grouped(sessions.length), "sessions"],
    ["Calls in flight", grouped(sum(({ inFlight }) => inFlight)), "servers"],
    ["In the inbox", grouped(questions.length + approvals.filter(isWaiting).length), "inbox"],
  ];
  return (
    <ul class="numbers" aria-label="Numbers">
      {numbers.map(([label, value, view]) => (
        <li key={label}>
          <a href={hrefOf(view)}>
            <strong class={label === "Servers" && isWrong && up < servers.length ? "bad" : ""}>
              {value}
            </strong>
            <span>{label}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function LastCalls({ rows }: { readonly rows: typeof calls.state.rows }) {
  return (
    <Panel title="Last calls" aside={<a href={hrefOf("calls")}>All calls</a>}>
      {rows.length === 0 ? (
        <Empty title="No call yet.">Calls appear here within a second.</Empty>
      ) : (
        <CallsTable label="Last calls" rows={rows.slice(0, SHOWN_CALLS)} />
      )}
    </Panel>
  );
}

function LastDecisions({ state: { decisions } }: { readonly state: GatewayState }) {
  return (
    <Panel title="Latest decisions" aside={<a href={hrefOf("policy")}>All decisions</a>}>
      {decisions.length === 0 ? (
        <Empty title="No rule has decided anything yet.">
          Decisions appear here as soon as a host calls a tool.
        </Empty>
      ) : (
        <Table label="Latest decisions" columns={["Time", "Decision", "Target", "Principal", "Rule"]}>
          {decisions.slice(0, SHOWN_CALLS).map((row) => (
            <tr key={`${row.time}${row.call}${row.rule}${row.on}`}>
              <td>{timeOf(row.time)}</td>
              <td>
                <StateBadge state={row.effect} />
              </td>
              <td>
                <code>{row.target}</code>
              </td>
              <td>{row.principal}</td>
              <td>{row.rule}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
