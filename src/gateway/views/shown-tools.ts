/** The tools that a client sees, with what would become of their calls. */
import type { CallOutlook } from "../../core/call-policy.js";
import type { Client } from "../../core/client.js";
import type { StopSignal } from "../../core/stop.js";
import type { JsonObject } from "../../wire/json.js";
import type { Pipeline } from "../pipeline.js";

/** A tool in the lists of a client. */
export interface ShownTool {
  /** "" for the gateway's own tools. */
  readonly server: string;
  /** Its entry, by the name that hosts see. */
  readonly item: JsonObject;
  readonly outlook: CallOutlook;
}

/** All tools that `client` may find, listed or by search; waits for lists as its host would, until `signal` aborts. */
export async function shownTools(
  inEffect: () => Pick<Pipeline, "catalog" | "policy">,
  client: Client,
  signal: StopSignal,
): Promise<readonly ShownTool[]> {
  await inEffect().catalog.prepareLists(client, signal);
  const { catalog, policy } = inEffect();
  return catalog.latest
    .view(client)
    .list("tools")
    .entries.map(({ route, item }) => ({
      ...{ server: route.upstream, item },
      outlook: policy.outlook(client, route),
    }));
}
