/** Servers that are not available: instructions name them, and a resource has the state of all servers (docs/absent-servers.md). */
import type { Feature } from "../../cli/feature.js";
import type { OpenFeature } from "../../core/feature.js";

/** Always there; while all servers are available it adds one entry to the list of resources. */
export const absentServers: Feature = {
  name: "absent-servers",
  open: openAbsentServers,
};

async function openAbsentServers(): Promise<OpenFeature> {
  const { shownStates } = await import("./transform.js");
  return { name: "absent-servers", lists: shownStates, async close() {} };
}
