/** The servers, those with trouble first: cards, or a table where there are many, with the chosen one in a drawer. */
import { useState } from "preact/hooks";
import type { ServerRow } from "../../features/admin/rows.js";
import { ageOf, countOf, msOf, words } from "../format.js";
import { calls } from "../state/calls.js";
import type { ShownServer } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import type { GatewayState } from "../state/gateway-state.js";
import { failsOften } from "../state/problems.js";
import { hrefOf } from "../state/route.js";
import { callsOfServer } from "../state/server-calls.js";
import { useStore } from "../state/store.js";
import { Badge, StateBadge, toneOf } from "../ui/badge.js";
import { Empty, Fact, Row, Table, ViewTitle } from "../ui/panel.js";
import { Search } from "../ui/search.js";
import { ServerDetail } from "./server-detail.js";
import { SignIns } from "./sign-ins.js";

/** More than these are rows of a table. */
const MOST_CARDS = 8;
const COLUMNS = ["State", "Server", "Trouble", "#Since", "#Failed", "#95 %", "#In flight"];
/** Columns without room beside the drawer. */
const WIDE: ReadonlySet<string> = new Set(["Trouble", "#Since", "#In flight"]);

/** All servers. */
export function ServersView({ item }: { readonly item: string | undefined }) {
  const state = useStore(gateway);
  const [wanted, setWanted] = useState("");
  const servers = [...state.servers].sort(
    (a, b) => rank(a, state) - rank(b, state) || a.name.localeCompare(b.name),
  );
  const found = servers.filter((server) => matches(server, wanted.toLowerCase()));
  const chosen = servers.find(({ name }) => name === item);
  const isTable = servers.length > MOST_CARDS;
  return (
    <>
      <ViewTitle title="Servers">{countOf(servers.length, "server")}, those with trouble first</ViewTitle>
      {servers.length === 0 && (
        <Empty title="No server is configured.">
          Add one with <code>cardea add NAME -- COMMAND</code>.
        </Empty>
      )}
      <div class={`split wide-list ${chosen === undefined ? "" : "has-detail"}`}>
        <div class="list-of-servers">
          {servers.length > 1 && (
            <Search label="Search servers" hint="Search name or state" value={wanted} onChange={setWanted} />
          )}
          {servers.length > 0 && found.length === 0 && <Empty title="No server matches." />}
          {isTable ? (
            found.length > 0 && <ServersTable servers={found} chosen={chosen} />
          ) : (
            <div class="grid servers">
              {found.map((server) => (
                <ServerCard key={server.name} server={server} isChosen={server === chosen} />
              ))}
            </div>
          )}
        </div>
        {chosen !== undefined && <ServerDetail key={chosen.name} server={chosen} />}
      </div>
    </>
  );
}

const matches = ({ name, state }: ServerRow, wanted: string): boolean =>
  `${name} ${words(state)}`.toLowerCase().includes(wanted);

function rank({ name, state, circuit }: ServerRow, { problems }: GatewayState): number {
  if (circuit === "open") return 0;
  const byState = ["bad", "warn", "info"].indexOf(toneOf(state)) + 1 || 4;
  const own = problems.filter(({ server }) => server === name);
  if (own.length === 0) return byState;
  return Math.min(byState, own.some(({ severity }) => severity === "error") ? 1 : 2);
}

interface ServersTableProps {
  readonly servers: readonly ShownServer[];
  readonly chosen: ShownServer | undefined;
}

function ServersTable({ servers, chosen }: ServersTableProps) {
  const { rows } = useStore(calls);
  const state = useStore(gateway);
  const now = Date.now();
  const isWide = chosen === undefined;
  return (
    <section class="card list" aria-label="Servers">
      <Table label="Servers" kind="stack" columns={COLUMNS.filter((column) => isWide || !WIDE.has(column))}>
        {servers.map((server) => {
          const { name, lastError, latencyMs, failingSince, startedAt } = server;
          const recent = callsOfServer(rows, name, now);
          const since = failingSince ?? startedAt;
          return (
            <Row key={name} href={hrefOf("servers", name)} isChosen={server === chosen}>
              <td>
                <Badges server={server} />
              </td>
              <th scope="row" class="target">
                <a href={hrefOf("servers", name)}>{name}</a>
              </th>
              {isWide && (
                <>
                  <td class="aside trouble" title={lastError}>
                    {lastError ?? ""}
                  </td>
                  <td class="number" data-label="since">
                    {since === undefined ? "–" : ageOf(since)}
                  </td>
                </>
              )}
              <td class={`number ${failsOften(state, name) ? "bad" : ""}`} data-label="failed">
                {recent.calls === 0 ? "–" : `${recent.failed}/${recent.calls}`}
              </td>
              <td class="number" data-label="95 %">
                {latencyMs?.p95 === undefined ? "–" : msOf(latencyMs.p95)}
              </td>
              {isWide && (
                <td class="number" data-label="in flight">
                  {server.inFlight + server.waiting}
                </td>
              )}
            </Row>
          );
        })}
      </Table>
    </section>
  );
}

const Badges = ({ server: { state, circuit, inFlight, inUse } }: { readonly server: ShownServer }) => (
  <span class="badges">
    <StateBadge
      state={(inUse || inFlight > 0) && (state === "idle" || state === "ready") ? "in_use" : state}
    />
    {circuit !== "closed" && <Badge tone="bad">{`circuit ${words(circuit)}`}</Badge>}
  </span>
);

interface ServerCardProps {
  readonly server: ShownServer;
  readonly isChosen: boolean;
}

function ServerCard({ server, isChosen }: ServerCardProps) {
  const { logins, catalog } = useStore(gateway);
  const { rows } = useStore(calls);
  const { name, serverInfo, required, lastError, latencyMs } = server;
  const recent = callsOfServer(rows, name, Date.now());
  return (
    <article class={`card server ${isChosen ? "chosen" : ""}`} aria-label={name}>
      <div class="card-head">
        <div>
          <h2>
            <a class="over-all" href={hrefOf("servers", name)}>
              {name}
            </a>
          </h2>
          <p class="quiet">
            {[serverInfo?.name, serverInfo?.version].filter(Boolean).join(" ") || server.transport}
          </p>
        </div>
        <div class="badges">
          <Badges server={server} />
          {required && <Badge tone="quiet">required</Badge>}
        </div>
      </div>
      {lastError !== undefined && (
        <p class={`error short ${toneOf(server.state) === "warn" ? "warn" : ""}`}>{lastError}</p>
      )}
      <dl class="facts">
        <Fact label="Tools">{catalog.tools.filter((tool) => tool.server === name).length}</Fact>
        <Fact label="Failed, 10 min">{`${recent.failed} of ${recent.calls}`}</Fact>
        <Fact label="95 %">{latencyMs?.p95 === undefined ? "–" : msOf(latencyMs.p95)}</Fact>
      </dl>
      {server.state === "needs_sign_in" && <SignIns server={server} logins={logins} />}
    </article>
  );
}
