/** The tools that hosts see: search on the left, one tool on the right. */
import { useState } from "preact/hooks";
import { countOf, grouped } from "../format.js";
import { CAPABILITIES } from "../mcp/client.js";
import { gateway } from "../state/gateway.js";
import { hasPage } from "../state/gateway-state.js";
import { usePage } from "../state/page.js";
import { hrefOf } from "../state/route.js";
import { useStore } from "../state/store.js";
import { Empty, ViewTitle } from "../ui/panel.js";
import { Search } from "../ui/search.js";
import { DisabledTools } from "./disabled-tools.js";
import { type ToolEntry, ToolView } from "./tool.js";

/** All tools of the principal as which the page calls them. */
const LIST = `lists?kind=tools&all=true&as=operator&capabilities=${encodeURIComponent(JSON.stringify(CAPABILITIES))}`;
/** Maximum listed tools; a longer query narrows the list. */
const MOST_SHOWN = 200;

/** All tools of one principal. */
export function ToolsView({ item }: { readonly item: string | undefined }) {
  const state = useStore(gateway);
  const { catalog } = state;
  const [wanted, setWanted] = useState("");
  // The list is reloaded when it changes.
  const version = catalog.tools.map(({ name }) => name).join(" ");
  const { page, trouble } = usePage<{ entries: readonly ToolEntry[] }>(LIST, version);
  const entries = page?.entries ?? [];
  // Some servers list more to hosts that can be asked, as this page can.
  const forEach = new Set(catalog.tools.map(({ name }) => name));
  const more = entries.filter((entry) => !forEach.has(entry.item.name)).length;
  const found = entries.filter((entry) => matches(entry, wanted));
  const chosen = entries.find((entry) => entry.item.name === item);
  return (
    <>
      <ViewTitle title="Tools">
        {page === undefined
          ? (trouble ?? "Reading the list …")
          : `${countOf(entries.length, "tool")}, as hosts see them${more === 0 ? "" : `: ${grouped(entries.length - more)} for each host, ${grouped(more)} more for hosts that can be asked`}`}
      </ViewTitle>
      {hasPage(state, "tools/disabled") && <DisabledTools version={version} />}
      <div class={`split ${chosen === undefined ? "" : "has-detail"}`}>
        <section class="card list" aria-label="List of tools">
          <Search
            label="Search tools"
            hint="Search name or description"
            value={wanted}
            onChange={setWanted}
          />
          <ul class="names">
            {found.slice(0, MOST_SHOWN).map(({ server, item: tool }) => (
              <li key={tool.name}>
                <a href={hrefOf("tools", tool.name)} aria-current={tool.name === item ? "true" : undefined}>
                  <strong>{tool.name}</strong>
                  <small>{tool.title ?? tool.description ?? (server || "the gateway itself")}</small>
                </a>
              </li>
            ))}
          </ul>
          {found.length > MOST_SHOWN && (
            <p class="quiet">{found.length - MOST_SHOWN} more; search to see them.</p>
          )}
          {page !== undefined && found.length === 0 && (
            <Empty title={entries.length === 0 ? "No server lists a tool." : "No tool matches."} />
          )}
        </section>
        {chosen === undefined ? (
          <section class="card detail placeholder" aria-label="Tool">
            <Empty title={item === undefined ? "Choose a tool" : `There is no tool ${item}`}>
              Its schema, who may use it, and a form to try it.
            </Empty>
          </section>
        ) : (
          <ToolView key={chosen.item.name} entry={chosen} />
        )}
      </div>
    </>
  );
}

function matches({ server, item }: ToolEntry, wanted: string): boolean {
  const text = `${item.name} ${item.title ?? ""} ${item.description ?? ""} ${server}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
