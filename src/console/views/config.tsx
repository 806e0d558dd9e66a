/** The live config, without secrets. */
import { gateway } from "../state/gateway.js";
import { usePage } from "../state/page.js";
import { useStore } from "../state/store.js";
import { JsonBlock } from "../ui/json-block.js";
import { Empty, Panel, ViewTitle } from "../ui/panel.js";

/** Reloaded when the live config changes. */
export function ConfigView() {
  const { status } = useStore(gateway);
  const { page, trouble } = usePage<unknown>("config", status?.configDigest ?? "");
  return (
    <>
      <ViewTitle title="Config in force">
        {[status?.config ?? "no file", status?.configDigest && `SHA-256 ${status.configDigest}…`]
          .filter(Boolean)
          .join(" · ")}
      </ViewTitle>
      <Panel title="Secrets are masked">
        {page === undefined ? (
          <Empty title={trouble ?? "Reading the config …"} />
        ) : (
          <div class="whole">
            <JsonBlock value={page} label="The config in force" />
          </div>
        )}
      </Panel>
    </>
  );
}
