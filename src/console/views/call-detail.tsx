/** A call of the list: its waterfall and its facts. */

import type { CallRow } from "../../features/admin/rows.js";
import { timeOf } from "../format.js";
import { keyOf } from "../state/calls.js";
import { hrefOf } from "../state/route.js";
import { StateBadge } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { Drawer, Fact } from "../ui/panel.js";
import { TextBox } from "../ui/text-box.js";
import { Waterfall } from "./waterfall.js";

/** Shown beside the list. */
export function CallDetail({ call }: { readonly call: CallRow }) {
  const { target, method, outcome, ms, at, principal, host, server, rule, decision, traceId } = call;
  return (
    <Drawer
      title={<span class="mono">{target || method}</span>}
      label={`Call ${keyOf(call)}`}
      about={`call ${keyOf(call)}, ${timeOf(at)}`}
      badges={<StateBadge state={outcome} />}
      back={hrefOf("calls")}
    >
      <Waterfall ms={ms} />
      <dl class="facts">
        <Fact label="Method">{method}</Fact>
        <Fact label="Server">{server === "" ? "–" : <a href={hrefOf("servers", server)}>{server}</a>}</Fact>
        <Fact label="Host">{host || "–"}</Fact>
        <Fact label="Principal">{principal}</Fact>
        <Fact label="Decision">{decision === undefined ? "–" : <StateBadge state={decision} />}</Fact>
        <Fact label="Rule">{rule === undefined ? "–" : <a href={hrefOf("policy", rule)}>{rule}</a>}</Fact>
        {traceId !== undefined && (
          <Fact label="Trace">
            <code>{traceId}</code>
          </Fact>
        )}
      </dl>
      {call.arguments !== undefined && (
        <>
          <h3>Arguments</h3>
          <Content text={call.arguments} label="Arguments" />
        </>
      )}
      {call.result !== undefined && (
        <>
          <h3>Result</h3>
          <Content text={call.result} label="Result" />
        </>
      )}
    </Drawer>
  );
}

/** JSON in lines; what the gateway has cut is not JSON, and is shown unchanged. */
function Content({ text, label }: { readonly text: string; readonly label: string }) {
  try {
    return <JsonBlock value={JSON.parse(text)} label={label} />;
  } catch {
    return <TextBox label={label}>{text}</TextBox>;
  }
}
