/** A live topology of hosts, gateway and servers: an edge is animated while calls are in flight. */

import type { CallRow, ServerRow, SessionRow } from "../../features/admin/rows.js";
import { countOf, cut, msOf, perSecond } from "../format.js";
import type { GatewayState } from "../state/gateway-state.js";
import { hrefOf } from "../state/route.js";
import { StateBadge, type Tone, toneOf } from "../ui/badge.js";
import { Icon } from "../ui/icon.js";
import { Logo } from "../ui/logo.js";

/** Rows per side; the rest is collapsed into one row. */
const MOST_ROWS = 9;
/** The height of a row with its gap in px; the style sheet has the same value. */
const ROW = 62;
/** An edge stays highlighted for this time (ms) after a call. */
const RECENT_MS = 10_000;

interface Node {
  readonly key: string;
  readonly tone: Tone;
  /** Whether calls are in flight. */
  readonly isActive: boolean;
}

/** The topology. */
export function Topology({
  state,
  calls,
}: {
  readonly state: GatewayState;
  readonly calls: readonly CallRow[];
}) {
  const { status } = state;
  const recent = calls.filter(({ at, ms }) => Date.now() - at - ms.total < RECENT_MS);
  const rateOf = (matches: (call: CallRow) => boolean): string | undefined => {
    const count = recent.filter(matches).length;
    return count === 0 ? undefined : perSecond((1_000 * count) / RECENT_MS);
  };
  const hosts = hostsOf(state.sessions, recent);
  const servers = [...state.servers].sort((a, b) => weight(b) - weight(a));
  const shownHosts = hosts.slice(0, hosts.length > MOST_ROWS ? MOST_ROWS - 1 : MOST_ROWS);
  const shown = servers.slice(0, servers.length > MOST_ROWS ? MOST_ROWS - 1 : MOST_ROWS);
  const height = Math.max(rowsOf(hosts.length), rowsOf(servers.length)) * ROW;
  const serverNodes = shown.map((server): Node => {
    const isActive = (server.inFlight ?? 0) > 0 || recent.some((call) => call.server === server.name);
    return { key: server.name, tone: toneOf(server.state), isActive };
  });
  return (
    <section class="card picture" aria-label="Hosts, gateway and servers">
      <div class="column hosts">
        {hosts.length === 0 && <div class="node ghost">No host is connected</div>}
        {shownHosts.map(({ key, sessions }) => (
          <a key={key} class="node" href={hrefOf("sessions")}>
            <Icon name="host" />
            <span>
              <strong>{cut(key, 26)}</strong>
              <small>
                {facts(
                  sessions > 0 ? countOf(sessions, "session") : "no session",
                  rateOf(({ host }) => host === key || host.startsWith(`${key} `)),
                )}
              </small>
            </span>
          </a>
        ))}
        {hosts.length > MOST_ROWS && (
          <div class="node ghost">{hosts.length - shownHosts.length} more hosts</div>
        )}
      </div>
      <Lines nodes={shownHosts} rows={rowsOf(hosts.length)} height={height} isMirrored={false} />
      <div class="column gateway">
        <div class={`node center ${status?.ready === false ? "bad" : ""}`}>
          <Logo />
          <strong>Cardea</strong>
          <small>{status?.ready === false ? "not ready" : "ready"}</small>
        </div>
      </div>
      <Lines nodes={serverNodes} rows={rowsOf(servers.length)} height={height} isMirrored />
      <div class="column servers">
        {servers.length === 0 && <div class="node ghost">No server is configured</div>}
        {shown.map((server) => (
          <ServerNode
            key={server.name}
            server={server}
            rate={rateOf((call) => call.server === server.name)}
          />
        ))}
        {servers.length > MOST_ROWS && (
          <a class="node ghost" href={hrefOf("servers")}>
            {servers.length - shown.length} more servers
          </a>
        )}
      </div>
    </section>
  );
}

/** The rows of a column, with the one that counts what is left out. */
const rowsOf = (count: number): number => Math.max(1, Math.min(MOST_ROWS, count));

const facts = (...all: readonly (string | undefined)[]): string => all.filter(Boolean).join(" · ");

interface ServerNodeProps {
  readonly server: ServerRow;
  /** Calls lately. */
  readonly rate: string | undefined;
}

function ServerNode({ server, rate }: ServerNodeProps) {
  const { name, state, inFlight, latencyMs, transport } = server;
  const median = latencyMs?.p50 === undefined ? undefined : `${msOf(latencyMs.p50)} median`;
  const busy = inFlight > 0 ? `${inFlight} in flight` : undefined;
  return (
    <a class="node" href={hrefOf("servers", name)}>
      <span>
        <strong>{cut(name, 26)}</strong>
        <small>{facts(rate, median, busy) || transport}</small>
      </span>
      <StateBadge state={state} />
    </a>
  );
}

interface LinesProps {
  readonly nodes: readonly Node[];
  /** The rows of their column. */
  readonly rows: number;
  readonly height: number;
  readonly isMirrored: boolean;
}

/** From each node to the gateway in the middle. */
function Lines({ nodes, rows, height, isMirrored }: LinesProps) {
  const top = (height - rows * ROW) / 2;
  const middle = height / 2;
  return (
    <svg
      class="lines"
      viewBox={`0 0 100 ${height}`}
      preserveAspectRatio="none"
      height={height}
      aria-hidden="true"
    >
      {nodes.map(({ key, tone, isActive }, at) => {
        const y = top + at * ROW + (ROW - 8) / 2 + 4;
        const [from, to] = isMirrored ? [middle, y] : [y, middle];
        const d = `M0 ${from}C50 ${from} 50 ${to} 100 ${to}`;
        return <path key={key} class={`${tone} ${isActive ? "active" : ""}`} d={d} />;
      })}
    </svg>
  );
}

/** Hosts by name, those with calls first. */
function hostsOf(
  sessions: readonly SessionRow[],
  recent: readonly CallRow[],
): readonly (Node & { readonly sessions: number })[] {
  const counts = new Map<string, number>();
  for (const { client = "unnamed host" } of sessions) counts.set(client, (counts.get(client) ?? 0) + 1);
  // Calls name a host with its version; sessions may omit it.
  const known = (host: string): string =>
    [...counts.keys()].find((name) => host.startsWith(`${name} `)) ?? host;
  const active = new Set(recent.map(({ host }) => known(host)).filter((host) => host !== ""));
  for (const host of active) if (!counts.has(host)) counts.set(host, 0);
  return [...counts]
    .map(([key, count]) => ({ key, sessions: count, tone: "quiet" as const, isActive: active.has(key) }))
    .sort((a, b) => Number(b.isActive) - Number(a.isActive) || b.sessions - a.sessions);
}

/** Broken or busy servers come first. */
function weight({ state, inFlight }: ServerRow): number {
  const tone = toneOf(state);
  return (tone === "bad" ? 1_000_000 : tone === "warn" ? 100_000 : 0) + inFlight;
}
