/** server-everything for hosts that can be asked: its log, and the transport of 2024-11-05 on both sides. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { type Answers, ASKABLE } from "../support/peers/askable.js";
import { eachValue } from "../support/sample.js";
import { startWithPort } from "../support/told-port.js";
import { until } from "../support/until.js";
import { realServers } from "./servers.js";

const MAIN = inRepository("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const EVERYTHING = realServers("/")[0]?.place ?? {};
const COMPLETION = { role: "assistant", model: "test", content: { type: "text", text: "because" } };
const answers: Answers = {
  elicit: () => ({ action: "decline" }),
  sample: () => COMPLETION,
  roots: () => ({ roots: [{ uri: "file:///home/ada" }] }),
};

describe("server-everything on a pipe", () => {
  let gateway: MetGateway;
  beforeAll(async () => {
    gateway = await metGateway({ mcpServers: { everything: EVERYTHING } });
  });
  afterAll(() => gateway.stop());

  const drawn = eachValue("hosts of the log of server-everything", ASKABLE, ({ era }) => [era]);
  test.concurrent.each(drawn)(
    "a host built with $name gets the log message that toggle-simulated-logging sends during its call",
    async (kind) => {
      const host = await kind.connect({ url: gateway.url }, answers);
      try {
        await host.setLevel("debug");
        await host.call("everything__toggle-simulated-logging");
        // Lines about the roots may come before.
        await until("its line", () => host.heard.logs.some((line) => /message/.test(line)));
        await host.call("everything__toggle-simulated-logging");
      } finally {
        await host.close();
      }
    },
  );
});

test("a host of SDK 1.32 over HTTP+SSE gets the questions of server-everything over HTTP+SSE", async () => {
  const { server, port } = await startWithPort(
    process.execPath,
    [MAIN, "sse"],
    /(listening|running) on port/i,
  );
  const gateway = await metGateway({
    listen: { http: { legacySse: true } },
    mcpServers: { everything: { type: "sse", url: `http://127.0.0.1:${port}/sse` } },
  });
  const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
  const host = new Client({ name: "cardea-sse-host", version: "1.0.0" }, { capabilities });
  host.setRequestHandler(CreateMessageRequestSchema, () => COMPLETION as never);
  host.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
  host.setRequestHandler(ListRootsRequestSchema, () => answers.roots() as never);
  await host.connect(
    new SSEClientTransport(new URL("/sse", gateway.url)) as Parameters<Client["connect"]>[0],
  );
  const say = async (name: string, args = {}): Promise<string> =>
    JSON.stringify(await host.callTool({ name: `everything__${name}`, arguments: args }));
  try {
    await until("its tools for hosts that can be asked", async () =>
      (await host.listTools()).tools.some(({ name }) => name === "everything__get-roots-list"),
    );
    expect(await say("trigger-sampling-request", { prompt: "why?", maxTokens: 5 })).toContain("because");
    expect(await say("trigger-elicitation-request")).toContain("declined");
    expect(await say("get-roots-list")).toContain("file:///home/ada");
  } finally {
    await host.close();
    await gateway.stop();
    await server.stop();
  }
});
