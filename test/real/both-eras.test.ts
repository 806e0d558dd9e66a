/** A server that speaks both eras, as the SDK makes them: each host is served as it would be directly. */
import "../features/admin/needed.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { ASKABLE, type AskableHost, type AskableKind } from "../support/peers/askable.js";
import type { Json } from "../support/peers/host.js";
import { start } from "../support/processes.js";

const MAIN = inRepository("test/support/servers/both-eras.mjs");

const answers = {
  elicit: () => ({ action: "accept", content: { name: "ada" } }),
  sample: () => ({ role: "assistant", model: "test", content: { type: "text", text: "because" } }),
  roots: () => ({ roots: [] }),
};

/** The server and its address; over stdio the client starts it. */
async function open(way: string): Promise<{ readonly entry: Json; readonly stop: () => Promise<unknown> }> {
  if (way === "stdio") {
    return { entry: { command: process.execPath, args: [MAIN, "stdio"] }, stop: async () => {} };
  }
  const server = start(process.execPath, [MAIN, way]);
  const [, url = ""] = await server.says(/ready (\S+)/);
  return { entry: { type: "http", url }, stop: () => server.stop() };
}

interface Stage {
  readonly gateway: MetGateway;
  readonly stop: () => Promise<void>;
}
const stages = new Map<string, Stage>();
beforeAll(async () => {
  const ways = ["stdio", "sessions", "stateless"];
  await Promise.all(
    ways.map(async (way) => {
      const server = await open(way);
      const gateway = await metGateway({ mcpServers: { it: { ...server.entry, prefix: "" } } });
      const stop = async (): Promise<void> => {
        await gateway.stop();
        await server.stop();
      };
      stages.set(way, { gateway, stop });
    }),
  );
});
afterAll(() => Promise.all([...stages.values()].map((stage) => stage.stop())));
const gatewayBefore = (way: string): MetGateway => (stages.get(way) as Stage).gateway;

const textOf = (call: Promise<string>): Promise<string> => call.catch((error: unknown) => String(error));

describe.each(["stdio", "sessions"])("a server of both eras over %s", (way) => {
  const hosts: AskableHost[] = [];
  const connect = async (kind: AskableKind): Promise<AskableHost> => {
    const host = await kind.connect({ url: gatewayBefore(way).url }, answers);
    hosts.push(host);
    return host;
  };
  afterAll(() => Promise.all(hosts.map((host) => host.close())));

  describe.each(ASKABLE)("serving a host built with $name", (kind) => {
    let host: AskableHost;
    beforeAll(async () => {
      host = await connect(kind);
    });

    test("is spoken to in the era of the host", async () => {
      expect(await host.call("era")).toMatch(new RegExp(`^${kind.era} `));
    });

    test.runIf(kind.era === "legacy")("sends its questions while its tools run", async () => {
      expect(await host.call("ask_while_running")).toBe("Hello, ada.");
      expect(await host.call("think_while_running")).toBe("because");
    });

    test("sends its questions as input_required results", async () => {
      expect(await host.call("ask_in_the_answer")).toBe("Hello, ada.");
    });

    test.runIf(kind.era === "modern")(
      "cannot send questions while its tools run, as without a gateway",
      async () => {
        expect(await textOf(host.call("ask_while_running"))).not.toContain("Hello");
      },
    );
  });

  test("has the protocol revisions in use in /api/v1/servers", async () => {
    for (const kind of ASKABLE) await (await connect(kind)).call("era");
    const page = (await (
      await fetch(`${gatewayBefore(way).admin}/api/v1/servers`)
    ).json()) as readonly Json[];
    expect(page[0]?.revisions).toEqual(["2026-07-28", "2025-11-25"]);
  });

  test("shares one process or connection between modern hosts", async () => {
    const modern = ASKABLE.filter(({ era }) => era === "modern");
    const said = await Promise.all(modern.map(async (kind) => (await connect(kind)).call("era")));
    expect(new Set(said).size).toBe(1);
  });
});

describe("a server of both eras without sessions", () => {
  test.each(ASKABLE)("sends questions to a host built with $name as input_required results", async (kind) => {
    const host = await kind.connect({ url: gatewayBefore("stateless").url }, answers);
    expect(await host.call("era")).toMatch(/^modern /);
    expect(await host.call("ask_in_the_answer")).toBe("Hello, ada.");
    await host.close();
  });
});
