/** Hosts made of the official SDKs: 1.32, and 2.4 in both eras. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { withFreshState } from "../fresh-state.js";
import { type Host, type HostKind, type Json, type List, outcomeOf, type Place } from "./host.js";

const INFO = { name: "cardea-test-host", version: "1.0.0" };

/** The part that both generations of the SDK have in common. */
interface SdkClient {
  getServerCapabilities(): object | undefined;
  getServerVersion(): object | undefined;
  getInstructions(): string | undefined;
  listTools(params?: { cursor: string }): Promise<Json>;
  listPrompts(params?: { cursor: string }): Promise<Json>;
  listResources(params?: { cursor: string }): Promise<Json>;
  listResourceTemplates(params?: { cursor: string }): Promise<Json>;
  callTool(params: never): Promise<unknown>;
  getPrompt(params: never): Promise<unknown>;
  readResource(params: never): Promise<unknown>;
  complete(params: never): Promise<unknown>;
  close(): Promise<void>;
}

function hostOf(client: SdkClient): Host {
  const capabilities = (client.getServerCapabilities() ?? {}) as Json;
  const page = (list: List, cursor?: string): Promise<Json> => {
    const params = cursor === undefined ? undefined : { cursor };
    switch (list) {
      case "tools":
        return client.listTools(params);
      case "prompts":
        return client.listPrompts(params);
      case "resources":
        return client.listResources(params);
      case "resourceTemplates":
        return client.listResourceTemplates(params);
    }
  };
  return {
    introduction: () => ({
      capabilities,
      instructions: client.getInstructions(),
      serverInfo: (client.getServerVersion() ?? {}) as Json,
    }),
    async list(list) {
      if (!(list === "resourceTemplates" ? "resources" in capabilities : list in capabilities)) return [];
      const items: Json[] = [];
      let cursor: string | undefined;
      do {
        const result = await page(list, cursor);
        items.push(...(result[list] as Json[]));
        cursor = result.nextCursor as string | undefined;
      } while (cursor !== undefined);
      return items;
    },
    request(method, params) {
      switch (method) {
        case "tools/call":
          return outcomeOf(client.callTool(params as never));
        case "prompts/get":
          return outcomeOf(client.getPrompt(params as never));
        case "resources/read":
          return outcomeOf(client.readResource(params as never));
        case "completion/complete":
          return outcomeOf(client.complete(params as never));
        default:
          throw new Error(`no test needs ${method} yet`);
      }
    },
    close: () => client.close(),
  };
}

const environment = (place: { readonly env?: Record<string, string> }): Record<string, string> =>
  withFreshState({ PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...place.env });

async function connectSdk1(place: Place): Promise<Host> {
  const client = new Client1(INFO);
  const transport =
    "url" in place
      ? new StreamableHTTPClientTransport1(new URL(place.url))
      : new StdioClientTransport1({
          command: place.command,
          args: [...place.args],
          env: environment(place),
          stderr: "ignore",
        });
  await client.connect(transport as Parameters<Client1["connect"]>[0]);
  return hostOf(client as SdkClient);
}

const connectSdk2 =
  (mode: "legacy" | "auto" | { pin: string }) =>
  async (place: Place): Promise<Host> => {
    const client = new Client(INFO, { versionNegotiation: { mode } });
    const transport =
      "url" in place
        ? new StreamableHTTPClientTransport(new URL(place.url))
        : new StdioClientTransport({
            command: place.command,
            args: [...place.args],
            env: environment(place),
            stderr: "ignore",
          });
    await client.connect(transport);
    return hostOf(client as SdkClient);
  };

export const SDK_1: HostKind = { name: "SDK 1.32", era: "legacy", connect: connectSdk1 };
export const SDK_2_LEGACY: HostKind = {
  name: "SDK 2.4 legacy",
  era: "legacy",
  connect: connectSdk2("legacy"),
};
export const SDK_2_MODERN: HostKind = {
  name: "SDK 2.4 modern",
  era: "modern",
  connect: connectSdk2({ pin: "2026-07-28" }),
};
