/** Connected hosts, and pending questions. */
import { countOf, spanOf } from "../format.js";
import { gateway } from "../state/gateway.js";
import { hasAction } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Badge } from "../ui/badge.js";
import { Empty, Panel, Table, ViewTitle } from "../ui/panel.js";

/** Questions first: they wait for a person. */
export function SessionsView() {
  const state = useStore(gateway);
  const { sessions, questions } = state;
  const canEnd = hasAction(state, "sessions/*/end");
  const since = (at: string): string => spanOf((Date.now() - Date.parse(at)) / 1000);
  return (
    <>
      <ViewTitle title="Sessions and questions">
        {`${countOf(sessions.length, "session")}, ${countOf(questions.length, "open question")}`}
      </ViewTitle>
      <Panel title="Open questions">
        {questions.length === 0 ? (
          <Empty title="No open questions.">
            Servers ask hosts for input, models for text, people for approval.
          </Empty>
        ) : (
          <Table label="Open questions" kind="stack" columns={["Server", "Kind", "Principal", "#Waits for"]}>
            {questions.map(({ server, kind, principal, since: at }, index) => (
              <tr key={`${server} ${kind} ${at} ${index}`}>
                <th scope="row" class="target">
                  {server || "the gateway"}
                </th>
                <td>
                  <Badge tone={kind === "approval" ? "warn" : "info"}>{kind}</Badge>
                </td>
                <td>{principal}</td>
                <td class="number" data-label="waits for">
                  {since(at)}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      <Panel title="Sessions">
        {sessions.length === 0 ? (
          <Empty title="No host is connected.">
            {state.status?.url === undefined ? "Hosts appear here." : `Hosts connect to ${state.status.url}`}
          </Empty>
        ) : (
          <Table
            label="Sessions"
            kind="stack"
            columns={["Host", "Principal", "Era", "Endpoint", "#Age", "#Idle", ...(canEnd ? [" "] : [])]}
          >
            {sessions.map((session, index) => {
              const { client, principal, era, scope, ageSeconds, idleSeconds, handle } = session;
              return (
                <tr key={handle ?? `${client} ${principal} ${scope} ${index}`}>
                  <th scope="row" class="target">
                    {client ?? "unnamed host"}
                  </th>
                  <td>{principal}</td>
                  <td>{era}</td>
                  <td>{scope === "" ? "all servers" : scope}</td>
                  <td class="number" data-label="age">
                    {spanOf(ageSeconds)}
                  </td>
                  <td class="number" data-label="idle">
                    {spanOf(idleSeconds)}
                  </td>
                  {canEnd && (
                    <td class="number">
                      {handle !== undefined && (
                        <ActionButton
                          label="End session"
                          question={`Ends the session of ${client ?? "this host"}. It may connect again.`}
                          action={`sessions/${encodeURIComponent(handle)}/end`}
                          isDangerous
                        />
                      )}
                    </td>
                  )}
                </tr>
              );
            })}
          </Table>
        )}
      </Panel>
    </>
  );
}
