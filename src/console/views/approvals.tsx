/** Remembered approvals, with a button to revoke each. */

import { timeOf } from "../format.js";
import { type ApprovalRow, isWaiting } from "../state/feature-rows.js";
import { gateway } from "../state/gateway.js";
import { hasAction } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Empty, Panel, Table } from "../ui/panel.js";

/** Those of the last poll of the gateway. */
export function Approvals() {
  const state = useStore(gateway);
  const rows = state.approvals.filter((row): row is ApprovalRow => !isWaiting(row));
  const canRevoke = hasAction(state, "approvals/*/revoke");
  return (
    <Panel title="Remembered approvals">
      {rows.length === 0 ? (
        <Empty title="No approval is remembered." />
      ) : (
        <Table
          label="Remembered approvals"
          kind="stack"
          columns={["Target", "Principal", "Rule", "Until", ...(canRevoke ? [" "] : [])]}
        >
          {rows.map(({ id, rule, principal, target, until, worker }) => (
            <tr key={`${worker ?? ""} ${id}`}>
              <th scope="row" class="target">
                <code>{target}</code>
              </th>
              <td>{principal}</td>
              <td>{rule}</td>
              <td>{timeOf(until)}</td>
              {canRevoke && (
                <td class="number">
                  <ActionButton
                    label="Take back"
                    question={`${principal} is asked again before the next call of ${target}.`}
                    action={`approvals/${encodeURIComponent(String(id))}/revoke`}
                    body={worker === undefined ? {} : { worker }}
                    isDangerous
                  />
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
