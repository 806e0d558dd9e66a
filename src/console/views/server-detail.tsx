/** A server in the drawer: why it is not well and what to do, how its calls go, what it wrote last. */
import { ageOf, countOf, grouped, msOf, timeOf, untilOf, words } from "../format.js";
import { calls, keyOf } from "../state/calls.js";
import type { ShownServer } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { hasAction, hasPage } from "../state/gateway-state.js";
import { usePage } from "../state/page.js";
import { hrefOf } from "../state/route.js";
import { adviceFor } from "../state/server-advice.js";
import { callsOfServer, isFailed } from "../state/server-calls.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Badge, StateBadge, toneOf } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { Drawer, Fact } from "../ui/panel.js";
import { TextBox } from "../ui/text-box.js";
import { ServerTrust } from "./server-trust.js";
import { SignIns } from "./sign-ins.js";

const FAILED_SHOWN = 5;

/** Shown beside the list of servers. */
export function ServerDetail({ server }: { readonly server: ShownServer }) {
  const state = useStore(gateway);
  const { name, serverInfo, circuit, required, lastError, malformed } = server;
  const advice = adviceFor(server, Date.now());
  return (
    <Drawer
      title={name}
      label={name}
      about={[serverInfo?.name, serverInfo?.version].filter(Boolean).join(" ") || server.transport}
      back={hrefOf("servers")}
      badges={
        <>
          <StateBadge state={server.state} />
          {circuit !== "closed" && <Badge tone="bad">{`circuit ${words(circuit)}`}</Badge>}
          {required && <Badge tone="quiet">required</Badge>}
        </>
      }
    >
      {lastError !== undefined && (
        <p class={`error ${toneOf(server.state) === "warn" ? "warn" : ""}`}>{lastError}</p>
      )}
      {advice !== undefined && <p class="advice">{advice}</p>}
      <div class="buttons">
        {hasAction(state, "servers/*/restart") && server.state !== "misconfigured" && (
          <ActionButton
            label={server.state === "backoff" ? "Retry" : "Restart"}
            {...(server.state !== "backoff" && {
              question: `Restarts ${name}. Calls that it is serving now fail.`,
              isDangerous: true,
            })}
            action={`servers/${encodeURIComponent(name)}/restart`}
          />
        )}
      </div>
      <Facts server={server} />
      <SignIns server={server} logins={state.logins} />
      {hasPage(state, "trust") && <ServerTrust server={server} />}
      <FailedCalls name={name} />
      {malformed.length > 0 && (
        <details>
          <summary>{countOf(malformed.length, "malformed list entry").replace("entrys", "entries")}</summary>
          <JsonBlock value={malformed} label={`Malformed entries of ${name}`} />
        </details>
      )}
      <Output server={server} />
    </Drawer>
  );
}

function Facts({ server }: { readonly server: ShownServer }) {
  const { catalog } = useStore(gateway);
  const { rows } = useStore(calls);
  const { name, latencyMs, restarts, failingSince, startedAt, nextTryAt } = server;
  const recent = callsOfServer(rows, name, Date.now());
  const own = (entries: readonly { server: string }[]): number =>
    entries.filter((entry) => entry.server === name).length;
  const lists = [
    [own(catalog.tools), "tool"],
    [own(catalog.prompts), "prompt"],
    [own(catalog.resources) + own(catalog.resourceTemplates), "resource"],
  ] as const;
  return (
    <dl class="facts">
      {failingSince !== undefined ? (
        <Fact label="Failing since">{`${timeOf(failingSince)} (${ageOf(failingSince)})`}</Fact>
      ) : (
        startedAt !== undefined && (
          <Fact label="Connected since">{`${timeOf(startedAt)} (${ageOf(startedAt)})`}</Fact>
        )
      )}
      {nextTryAt !== undefined && <Fact label="Next try">{untilOf(nextTryAt)}</Fact>}
      <Fact label="Failed, last 10 min">{`${recent.failed} of ${countOf(recent.calls, "call")}`}</Fact>
      {latencyMs?.p50 !== undefined && <Fact label="Median">{msOf(latencyMs.p50)}</Fact>}
      {latencyMs?.p95 !== undefined && <Fact label="95 %">{msOf(latencyMs.p95)}</Fact>}
      <Fact label="In flight">
        {server.inFlight}
        {server.waiting > 0 && ` + ${server.waiting} waiting`}
      </Fact>
      <Fact label="Restarts">{grouped(restarts)}</Fact>
      <Fact label="Lists">{lists.map(([count, word]) => countOf(count, word)).join(", ")}</Fact>
      {server.tokens !== undefined && <Fact label="Tokens">{grouped(server.tokens)}</Fact>}
      <Fact label="Revision">{server.revisions.join(", ") || "–"}</Fact>
      <Address name={name} transport={server.transport} />
    </dl>
  );
}

/** An entry of `servers` of the page `config`. */
interface ConfiguredServer {
  readonly name?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly transport?: {
    readonly command?: string;
    readonly args?: readonly string[];
    readonly url?: string;
  };
}

/** The command or the URL, as the config page shows them: without secrets. */
function Address({ name, transport }: { readonly name: string; readonly transport: string }) {
  const state = useStore(gateway);
  const { page } = usePage<{ readonly servers?: readonly ConfiguredServer[] }>(
    hasPage(state, "config") ? "config" : "status",
  );
  const entry = page?.servers?.find((server) => server.name === name);
  const { command, args = [], url } = entry?.transport ?? entry ?? {};
  const address = url ?? [command, ...args].filter(Boolean).join(" ");
  return (
    <div class="fact whole-row">
      <dt>{url === undefined ? "Command" : "URL"}</dt>
      <dd>{address === "" ? transport : <code>{address}</code>}</dd>
    </div>
  );
}

function FailedCalls({ name }: { readonly name: string }) {
  const { rows } = useStore(calls);
  const failed = rows.filter((row) => row.server === name && isFailed(row)).slice(0, FAILED_SHOWN);
  if (failed.length === 0) return null;
  return (
    <>
      <h3>Last failed calls</h3>
      <ul class="rows" aria-label={`Last failed calls of ${name}`}>
        {failed.map((row) => (
          <li key={keyOf(row)}>
            <span class="quiet">{timeOf(row.at)}</span>
            <a class="mono" href={hrefOf("calls", keyOf(row))}>
              {row.target || row.method}
            </a>
            <StateBadge state={row.outcome} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Output({
  server: { name, stderr = [], stderrAt = [], lastError },
}: {
  readonly server: ShownServer;
}) {
  if (stderr.length === 0) return null;
  const lines = stderr.map((line, at) => {
    const time = stderrAt[at];
    return time === undefined ? line : `${timeOf(time)}  ${line}`;
  });
  return (
    <details open={lastError !== undefined}>
      <summary>Last lines of stderr</summary>
      <TextBox label={`Last lines of stderr of ${name}`} isTail>
        {lines.join("\n")}
      </TextBox>
    </details>
  );
}
