/** What waits for a person: approvals, which are decided here, and questions, which hosts answer. */
import type { QuestionRow } from "../../features/admin/rows.js";
import { ageOf, countOf, untilOf } from "../format.js";
import { isWaiting, type WaitingApproval } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { hasAction } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Badge } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { Empty, Fact, Panel, Table, ViewTitle } from "../ui/panel.js";

/** Approvals first: they are decided here. */
export function InboxView() {
  const state = useStore(gateway);
  const approvals = state.approvals.filter(isWaiting);
  const { questions } = state;
  return (
    <>
      <ViewTitle title="Inbox">
        {`${countOf(approvals.length, "approval")} needed, ${countOf(questions.length, "open question")}`}
      </ViewTitle>
      {approvals.map((approval) => (
        <Approval
          key={`${approval.worker ?? ""} ${approval.id}`}
          approval={approval}
          canDecide={hasAction(state, "approvals/*/accept")}
        />
      ))}
      <Panel title="Open questions">
        {questions.length === 0 ? (
          <Empty title={approvals.length === 0 ? "Nothing waits for you." : "No open questions."}>
            Approvals are decided here. Questions of servers are answered in the host that made the call.
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
    </>
  );
}

interface ApprovalProps {
  readonly approval: WaitingApproval;
  readonly canDecide: boolean;
}

function Approval({ approval, canDecide }: ApprovalProps) {
  const { id, tool, server, principal, host, rule, at, expiresAt, worker } = approval;
  const path = `approvals/${encodeURIComponent(id)}`;
  const body = worker === undefined ? {} : { worker };
  return (
    <section class="card approval" aria-label={`Approval needed: ${tool}`}>
      <div class="card-head">
        <div>
          <h2>
            Approval needed: <span class="mono">{tool}</span>
          </h2>
          <p class="quiet">{`asked ${ageOf(at)} ago, expires ${untilOf(expiresAt)}`}</p>
        </div>
        <Badge tone="warn">waits</Badge>
      </div>
      <dl class="facts">
        <Fact label="Principal">{principal}</Fact>
        <Fact label="Host">{host ?? "–"}</Fact>
        <Fact label="Server">{server}</Fact>
        <Fact label="Rule">{rule}</Fact>
      </dl>
      {approval.arguments !== undefined && <Arguments value={approval.arguments} />}
      {canDecide && (
        <div class="buttons">
          <ActionButton label="Accept" action={`${path}/accept`} body={body} isMain />
          <ActionButton label="Decline" action={`${path}/decline`} body={body} isDangerous />
        </div>
      )}
    </section>
  );
}

function Arguments({ value }: { readonly value: unknown }) {
  let shown = value;
  // The gateway may have written them as text, and cut it.
  if (typeof value === "string") {
    try {
      shown = JSON.parse(value);
    } catch {
      // Shown as the text that it is.
    }
  }
  return <JsonBlock value={shown} label="Arguments" />;
}

function QuestionLine({ server, kind, principal, since }: QuestionRow) {
  return (
    <tr>
      <th scope="row" class="target">
        {server || "the gateway"}
      </th>
      <td>
        <Badge tone={kind === "approval" ? "warn" : "info"}>
          {kind === "approval" ? "approval needed" : kind}
        </Badge>
      </td>
      <td>{principal}</td>
      <td class="number" data-label="waits for">
        {ageOf(since)}
      </td>
    </tr>
  );
}
