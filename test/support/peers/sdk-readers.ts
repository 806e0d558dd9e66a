/** The official SDKs as readers of lists: whether a host made of them can read a list of just these entries. */
import { Client } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Json, List } from "./host.js";

const INFO = { name: "cardea-test-reader", version: "1.0.0" };
const CAPABILITIES = { tools: {}, prompts: {}, resources: {} };
const FRESH = { ttlMs: 0, cacheScope: "private", resultType: "complete" };

export interface Reader {
  readonly name: string;
  readonly era: "legacy" | "modern";
  /** Resolves to the entries as the host sees them; rejects where it cannot read them. */
  read(list: List, entries: readonly unknown[]): Promise<readonly Json[]>;
  /** Resolves when the host takes a server that says this of itself; rejects where it does not. */
  meet(capabilities: unknown, serverInfo?: unknown): Promise<void>;
}

/** A server in the memory of the test; its transport is what both generations of the SDK call one. */
class Scripted {
  onmessage: ((message: never) => void) | undefined;
  onclose: (() => void) | undefined;
  entries: readonly unknown[] = [];
  capabilities: unknown = CAPABILITIES;
  serverInfo: unknown = INFO;

  async start(): Promise<void> {}
  async close(): Promise<void> {
    this.onclose?.();
  }
  async send({ id, method = "", params }: Json): Promise<void> {
    if (id === undefined) return;
    const { capabilities, serverInfo } = this;
    const result = this.#results(method as string, params as Json) ?? { capabilities, serverInfo };
    // What goes over a wire is text, and says nothing of what cannot be said in JSON.
    const message = JSON.parse(JSON.stringify({ jsonrpc: "2.0", id, result })) as never;
    queueMicrotask(() => this.onmessage?.(message));
  }
  #results(method: string, params: Json): Json | undefined {
    const { entries, capabilities, serverInfo } = this;
    switch (method) {
      case "initialize":
        return { protocolVersion: params.protocolVersion, capabilities, serverInfo };
      case "server/discover":
        return { ...FRESH, supportedVersions: ["2026-07-28"], capabilities };
      case "tools/list":
        return { ...FRESH, tools: entries };
      case "prompts/list":
        return { ...FRESH, prompts: entries };
      case "resources/list":
        return { ...FRESH, resources: entries };
      default:
        return { ...FRESH, resourceTemplates: entries };
    }
  }
}

const LISTERS = {
  tools: "listTools",
  prompts: "listPrompts",
  resources: "listResources",
  resourceTemplates: "listResourceTemplates",
} as const;

type AnyClient = Readonly<Record<(typeof LISTERS)[List], () => Promise<Json>>> & {
  connect(transport: never): Promise<void>;
};

function reader(name: string, era: Reader["era"], newClient: () => unknown): Reader {
  // One client reads all lists, as in a host: each has a validator of its own, and that costs more than a list.
  const connected = async () => {
    const client = newClient() as AnyClient;
    const server = new Scripted();
    await client.connect(server as never);
    return { client, server };
  };
  let open: ReturnType<typeof connected> | undefined;
  return {
    name,
    era,
    async read(list, entries) {
      open ??= connected();
      const { client, server } = await open;
      server.entries = entries;
      return (await client[LISTERS[list]]())[list] as readonly Json[];
    },
    async meet(capabilities, serverInfo = INFO) {
      const server = new Scripted();
      Object.assign(server, { capabilities, serverInfo });
      await (newClient() as AnyClient).connect(server as never);
    },
  };
}

const client2 = (mode: "legacy" | { pin: string }) => () =>
  new Client(INFO, { versionNegotiation: { mode } });

export const READERS: readonly Reader[] = [
  reader("SDK 1.32", "legacy", () => new Client1(INFO)),
  reader("SDK 2.4 legacy", "legacy", client2("legacy")),
  reader("SDK 2.4 modern", "modern", client2({ pin: "2026-07-28" })),
];
