/** The hosts of the benchmark, on the cheapest wire of each transport. */
import { Host } from "../test/support/host/host.mjs";
import { socketWire, sseWire } from "../test/support/host/socket-wires.mjs";

/**
 * @param {"modern" | "legacy" | "sse"} era `sse` is the transport of 2024-11-05
 * @param {{ key?: string, capabilities?: object }} options an API key; and what the host declares
 */
export async function openHost(url, era, { key, capabilities = {} } = {}) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  if (era !== "sse") return new Host(socketWire(url, headers), era, { capabilities }).open();
  return new Host(await sseWire(url, headers), "legacy", { capabilities, revision: "2024-11-05" }).open();
}
