/** A tool: description, a form to call it, its schemas, and the principals that may use it. */
import { useState } from "preact/hooks";
import { gateway } from "../state/gateway.js";
import { hasAction, hasPage } from "../state/gateway-state.js";
import { hrefOf } from "../state/route.js";
import { useStore } from "../state/store.js";
import { ActionButton } from "../ui/act.js";
import { Badge, type Tone } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { ToolPermissions } from "./tool-permissions.js";
import { TryIt } from "./try-it.js";

/** An entry of the tool list. */
export interface ToolEntry {
  readonly server: string;
  readonly item: {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly inputSchema?: unknown;
    readonly outputSchema?: unknown;
    readonly annotations?: Readonly<Record<string, unknown>>;
  };
}

const TABS = ["Try it", "Schema", "Who may use it"] as const;

/** The detail of the view. */
export function ToolView({ entry: { server, item } }: { readonly entry: ToolEntry }) {
  const state = useStore(gateway);
  const [tab, setTab] = useState<(typeof TABS)[number]>("Try it");
  const tabs = TABS.filter((name) => name !== "Try it" || hasAction(state, "mcp")).filter(
    (name) => name !== "Who may use it" || hasPage(state, "explain"),
  );
  const shown = tabs.includes(tab) ? tab : "Schema";
  const path = `tools/${encodeURIComponent(item.name)}`;
  return (
    <section class="card detail" aria-label={item.name}>
      <a class="back" href={hrefOf("tools")}>
        ← All tools
      </a>
      <div class="card-head">
        <div>
          <h2 class="mono">{item.name}</h2>
          <p class="quiet">
            {[item.title, server && `of ${server}`].filter(Boolean).join(", ") || "of the gateway itself"}
          </p>
        </div>
        <div class="badges">
          {hintsOf(item.annotations).map(([tone, word]) => (
            <Badge key={word} tone={tone}>
              {word}
            </Badge>
          ))}
        </div>
      </div>
      {item.description !== undefined && <p class="description">{item.description}</p>}
      <div class="tabs" role="tablist" aria-label="About the tool">
        {tabs.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === shown}
            aria-controls="tool-panel"
            onClick={() => setTab(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="tool-panel" role="tabpanel" aria-label={shown}>
        {shown === "Try it" && <TryIt name={item.name} inputSchema={item.inputSchema} />}
        {shown === "Schema" && (
          <>
            <h3>Input</h3>
            <JsonBlock value={item.inputSchema ?? {}} label="Input schema" />
            {item.outputSchema !== undefined && (
              <>
                <h3>Output</h3>
                <JsonBlock value={item.outputSchema} label="Output schema" />
              </>
            )}
          </>
        )}
        {shown === "Who may use it" && <ToolPermissions name={item.name} />}
      </div>
      {hasAction(state, "tools/*/disable") && server !== "" && (
        <div class="buttons">
          <ActionButton
            label="Disable"
            question={`No host sees or calls ${item.name} until it is enabled again, or the config is reloaded.`}
            action={`${path}/disable`}
            isDangerous
          />
        </div>
      )}
    </section>
  );
}

/** The annotations of the tool. */
function hintsOf(annotations: ToolEntry["item"]["annotations"] = {}): readonly (readonly [Tone, string])[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  return [
    ...(readOnlyHint === true ? [["good", "only reads"] as const] : []),
    ...(readOnlyHint !== true && destructiveHint === true ? [["warn", "may destroy"] as const] : []),
    ...(idempotentHint === true && readOnlyHint !== true ? [["quiet", "idempotent"] as const] : []),
    ...(openWorldHint === true ? [["info", "open world"] as const] : []),
  ];
}
