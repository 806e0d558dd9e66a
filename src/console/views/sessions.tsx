/** Connected hosts. */
import type { SessionRow } from "../../features/admin/rows.js";
import { countOf, spanOf } from "../format.js";
import { gateway } from "../state/gateway.js";
import { hasAction } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Empty, Panel, Table, ViewTitle } from "../ui/panel.js";

/** Each with its age, and a button that ends it. */
export function SessionsView() {
  const state = useStore(gateway);
  const { sessions } = state;
  return (
    <>
      <ViewTitle title="Sessions">{countOf(sessions.length, "session")}</ViewTitle>
      <Panel title="Connected hosts">
        {sessions.length === 0 ? (
          <Empty title="No host is connected.">
            {state.status?.url === undefined ? "Hosts appear here." : `Hosts connect to ${state.status.url}`}
          </Empty>
        ) : (
          <Sessions sessions={sessions} canEnd={hasAction(state, "sessions/*/end")} />
        )}
      </Panel>
    </>
  );
}

interface SessionsProps {
  readonly sessions: readonly SessionRow[];
  readonly canEnd: boolean;
}

function Sessions({ sessions, canEnd }: SessionsProps) {
  return (
    <Table
      label="Sessions"
      kind="stack"
      columns={["Host", "Principal", "Era", "Endpoint", "#Age", "#Idle", ...(canEnd ? [" "] : [])]}
    >
      {sessions.map(({ client, principal, era, scope, ageSeconds, idleSeconds, handle }, index) => (
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
      ))}
    </Table>
  );
}
