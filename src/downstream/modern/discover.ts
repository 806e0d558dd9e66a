/** What the gateway answers to `server/discover` (spec 2026-07-28: server/discover). */
import type { Call, Freshness, Reply } from "../../core/call.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { without } from "../../wire/json.js";
import { OWN_META } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { SUPPORTED_VERSIONS } from "./read-meta.js";

/** Capabilities follow the servers behind, what the caller may see, and what it declared. */
const FRESHNESS: Freshness = { ttlMs: 0, scope: "private" };

/** The reply to `server/discover` for the client of `call`. */
export async function discover(call: Call, gateway: Pick<GatewayApi, "describe">): Promise<Reply> {
  const { capabilities, instructions, instance } = await gateway.describe(call.client);
  return {
    kind: "result",
    result: Payload.ofObject({
      supportedVersions: SUPPORTED_VERSIONS,
      // Tasks are an extension in this era, and must not be promised in the old way as well (SEP-2663).
      capabilities: without(capabilities, ["tasks"]),
      ...(instructions !== undefined && { instructions }),
      ...(instance !== undefined && { _meta: { [OWN_META.instance]: instance } }),
    }),
    freshness: FRESHNESS,
  };
}
