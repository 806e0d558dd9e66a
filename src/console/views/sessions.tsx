/** Connected hosts, and pending questions. */
import type { QuestionRow, SessionRow } from "../../features/admin/rows.js";
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
            {questions.map((question, index) => (
              <QuestionLine
                key={`${question.server} ${question.kind} ${question.since} ${index}`}
                {...question}
              />
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
          <Sessions sessions={sessions} canEnd={hasAction(state, "sessions/*/end")} />
        )}
      </Panel>
    </>
  );
}

function QuestionLine({ server, kind, principal, since }: QuestionRow) {
  return (
    <tr>
      <th scope="row" class="target">
        {server || "the gateway"}
      </th>
      <td>
        <Badge tone={kind === "approval" ? "warn" : "info"}>{kind}</Badge>
      </td>
      <td>{principal}</td>
      <td class="number" data-label="waits for">
        {spanOf((Date.now() - Date.parse(since)) / 1000)}
      </td>
    </tr>
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
