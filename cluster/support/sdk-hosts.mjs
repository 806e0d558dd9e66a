/** Hosts made of the official SDKs, as they come: 1.32 (legacy) and 2.4 (modern). */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const INFO = { name: "cardea-cluster-host", version: "1.0.0" };
const textOf = ({ content }) => content.map(({ text }) => text ?? "").join("\n");

/** @param {string} url */
export async function openSdkHosts(url) {
  const old = new Client1(INFO, { capabilities: {} });
  await old.connect(new Transport1(new URL(url)));
  const modern = new Client(INFO, { capabilities: {}, versionNegotiation: { mode: "auto" } });
  await modern.connect(new StreamableHTTPClientTransport(new URL(url)));
  return [
    {
      name: "sdk1",
      era: "legacy",
      call: async (name, args) => textOf(await old.callTool({ name, arguments: args })),
    },
    {
      name: "sdk2",
      era: "modern",
      call: async (name, args) => textOf(await modern.callTool({ name, arguments: args })),
    },
  ];
}
