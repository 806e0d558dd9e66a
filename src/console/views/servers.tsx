/** The servers: state, lists, latency, restarts, errors, sign-ins and actions of each. */
import { useEffect, useState } from "preact/hooks";
import type { ServerRow } from "../../features/admin/rows.js";
import { countOf, grouped, msOf, words } from "../format.js";
import type { ShownServer } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { type GatewayState, hasAction } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Badge, StateBadge, toneOf } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { Empty, Fact, ViewTitle } from "../ui/panel.js";
import { TextBox } from "../ui/text-box.js";
import { SignIns } from "./sign-ins.js";

/** All servers, broken ones first. */
export function ServersView({ item }: { readonly item: string | undefined }) {
  const state = useStore(gateway);
  useEffect(() => {
    if (item !== undefined) document.getElementById(`server-${item}`)?.scrollIntoView({ block: "start" });
  }, [item]);
  const [wanted, setWanted] = useState("");
  const servers = [...state.servers].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  const found = servers.filter((server) => matches(server, wanted.toLowerCase()));
  return (
    <>
      <ViewTitle title="Servers">{countOf(servers.length, "server")}, those with trouble first</ViewTitle>
      {servers.length === 0 && (
        <Empty title="No server is configured.">
          Add one with <code>cardea add NAME -- COMMAND</code>.
        </Empty>
      )}
      {servers.length > 1 && (
        <label class="search narrow">
          <span class="hidden">Search servers</span>
          <input
            type="search"
            placeholder="Search name or state"
            autocomplete="off"
            spellcheck={false}
            value={wanted}
            onInput={(event) => setWanted(event.currentTarget.value)}
          />
          <kbd>/</kbd>
        </label>
      )}
      {servers.length > 0 && found.length === 0 && <Empty title="No server matches." />}
      <div class="grid servers">
        {found.map((server) => (
          <ServerCard key={server.name} server={server} state={state} isChosen={server.name === item} />
        ))}
      </div>
    </>
  );
}

const matches = ({ name, state }: ServerRow, wanted: string): boolean =>
  `${name} ${words(state)}`.toLowerCase().includes(wanted);

const rank = ({ state }: ServerRow): number => ["bad", "warn", "info"].indexOf(toneOf(state)) + 1 || 4;

interface ServerCardProps {
  readonly server: ShownServer;
  readonly state: GatewayState;
  readonly isChosen: boolean;
}

function ServerCard({ server, state, isChosen }: ServerCardProps) {
  const { name, serverInfo, circuit, required, lastError, latencyMs, restarts, malformed } = server;
  const own = (rows: readonly { server: string }[]): number =>
    rows.filter((row) => row.server === name).length;
  const { catalog } = state;
  const stderr = server.stderr?.join("\n");
  return (
    <article id={`server-${name}`} class={`card server ${isChosen ? "chosen" : ""}`} aria-label={name}>
      <div class="card-head">
        <div>
          <h2>{name}</h2>
          <p class="quiet">{[serverInfo?.name, serverInfo?.version].filter(Boolean).join(" ") || " "}</p>
        </div>
        <div class="badges">
          <StateBadge state={server.state} />
          {circuit !== undefined && circuit !== "closed" && (
            <Badge tone="bad">{`circuit ${words(circuit)}`}</Badge>
          )}
          {required && <Badge tone="quiet">required</Badge>}
        </div>
      </div>
      {lastError !== undefined && (
        <p class={`error ${toneOf(server.state) === "warn" ? "warn" : ""}`}>{lastError}</p>
      )}
      <dl class="facts">
        <Fact label="Transport">{server.transport}</Fact>
        <Fact label="Revision">{server.revisions.join(", ") || "–"}</Fact>
        <Fact label="In flight">
          {server.inFlight}
          {server.waiting > 0 && ` + ${server.waiting} waiting`}
        </Fact>
        <Fact label="Tools">{grouped(own(catalog.tools))}</Fact>
        {server.tokens !== undefined && <Fact label="Tokens">{grouped(server.tokens)}</Fact>}
        <Fact label="Prompts">{grouped(own(catalog.prompts))}</Fact>
        <Fact label="Resources">{grouped(own(catalog.resources) + own(catalog.resourceTemplates))}</Fact>
        <Fact label="Restarts">{grouped(restarts)}</Fact>
        {latencyMs?.p50 !== undefined && <Fact label="Median">{msOf(latencyMs.p50)}</Fact>}
        {latencyMs?.p95 !== undefined && <Fact label="95 %">{msOf(latencyMs.p95)}</Fact>}
      </dl>
      <SignIns server={server} logins={state.logins} />
      {malformed.length > 0 && (
        <details>
          <summary>{countOf(malformed.length, "malformed list entry").replace("entrys", "entries")}</summary>
          <JsonBlock value={malformed} label={`Malformed entries of ${name}`} />
        </details>
      )}
      {stderr !== undefined && stderr !== "" && (
        <details open={lastError !== undefined}>
          <summary>Last lines of stderr</summary>
          <TextBox label={`Last lines of stderr of ${name}`} isTail>
            {stderr}
          </TextBox>
        </details>
      )}
      {hasAction(state, "servers/*/restart") && (
        <div class="buttons">
          <ActionButton
            label="Restart"
            question={`Restarts ${name}. Calls that it is serving now fail.`}
            action={`servers/${encodeURIComponent(name)}/restart`}
            isDangerous
          />
        </div>
      )}
    </article>
  );
}
