/** The tools that an operator has disabled, with a button to enable each. */
import type { DisabledToolsPage } from "../../features/admin/rows.js";
import { usePage } from "../state/page.js";
import { ActionButton } from "../ui/act.js";
import { Panel } from "../ui/panel.js";

/** Nothing if no tool is disabled. `version`: reloads the page when it changes. */
export function DisabledTools({ version }: { readonly version: string }) {
  const { page } = usePage<DisabledToolsPage>("tools/disabled", version);
  if (page === undefined || page.tools.length === 0) return null;
  return (
    <Panel title="Disabled until the next reload">
      <ul class="sign-ins">
        {page.tools.map((name) => (
          <li key={name}>
            <span>
              <code>{name}</code>
            </span>
            <ActionButton label="Enable" action={`tools/${encodeURIComponent(name)}/enable`} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
