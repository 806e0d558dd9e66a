/**
 * Servers with overlapping prefixes, one of them unavailable: a name is routed to the server with its prefix, or not at
 * all.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { type Received, type RecordingServer, recordingServer } from "../support/servers/recording-server.js";
import { HOSTS, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const servers: RecordingServer[] = [];
const received: Received[] = [];
let stage: Stage;

const offered = (...names: readonly string[]) => ({
  tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
  prompts: names,
  resources: names.map((name) => `memo:${name}`),
  templates: [],
});

beforeAll(async () => {
  const start = async (name: string, era: "legacy" | "modern", ...names: readonly string[]) => {
    const server = await recordingServer(name, era, offered(...names), (it) => void received.push(it));
    servers.push(server);
    return { type: "http", url: server.url };
  };
  const mcpServers = {
    bare: { ...(await start("bare", "legacy", "files__read", "off__read", "search")), prefix: "" },
    a: await start("a", "modern", "b__c", "x"),
    a__b: await start("a__b", "legacy", "c"),
    // Nothing listens there.
    files: { type: "http", url: "http://127.0.0.1:1/mcp" },
    off: { command: "none", disabled: true },
  };
  const rules = [
    { tools: ["{files,off}__*"], effect: "allow" },
    { tools: ["a__*"], effect: "allow" },
    { tools: ["*"], effect: "deny" },
  ];
  stage = await openStage([], { config: { mcpServers, policy: { rules } } });
});

afterAll(async () => {
  await stage.close();
  for (const server of servers) await server.close();
});

const refusalOf = (response: Json): unknown => {
  const { result, error } = response as { result?: { _meta?: Json }; error?: { data?: { cardea?: Json } } };
  const refusal = (result?._meta?.["cardea/refusal"] ?? error?.data?.cardea) as { code?: string } | undefined;
  return refusal?.code;
};

let lastId = 0;

describe.each([HOSTS.legacyHttp, HOSTS.legacyStdio, HOSTS.modernHttp, HOSTS.modernStdio])("$name", (kind) => {
  const open = async (): Promise<ScenarioHost> => openHost(stage, kind);
  const call = async (host: ScenarioHost, name: string) => {
    received.length = 0;
    lastId += 1;
    const response = await host.raw.send(`names-${lastId}`, "tools/call", { name, arguments: {} });
    return [refusalOf(response), ...received.map(({ server, params }) => `${server}/${String(params.name)}`)];
  };

  test("reaches no other server in place of an unavailable or disabled one, whatever the rules allow", async () => {
    const host = await open();
    expect(await call(host, "files__read")).toEqual(["upstream_unavailable"]);
    expect(await call(host, "off__read")).toEqual(["unknown_target"]);
    const names = (await host.raw.list("tools")).map(({ name }) => String(name));
    const foreign = names.filter((name) => /^(files|off)__/.test(name));
    expect(foreign).toEqual([
      expect.stringMatching(/^files__read_[a-z2-7]{8}$/),
      expect.stringMatching(/^off__read_[a-z2-7]{8}$/),
    ]);
    // A rule that allows the names of `files` is about nothing else.
    for (const name of foreign) expect(await call(host, name)).toEqual(["denied"]);
    await host.leave();
  });

  test("calls the server with the longer prefix, and the other server by a name with a hash", async () => {
    const host = await open();
    expect(await call(host, "a__b__c")).toEqual([undefined, "a__b/c"]);
    expect(await call(host, "a__x")).toEqual([undefined, "a/x"]);
    const names = (await host.raw.list("tools")).map(({ name }) => String(name));
    const [renamed = ""] = names.filter((name) => /^a__b__c_[a-z2-7]{8}$/.test(name));
    expect(await call(host, renamed)).toEqual([undefined, "a/b__c"]);
    await host.leave();
  });

  test("gets prompts by the same naming", async () => {
    const host = await open();
    received.length = 0;
    await host.raw.send("prompt-1", "prompts/get", { name: "a__b__c" });
    await host.raw.send("prompt-2", "prompts/get", { name: "files__read" });
    expect(received.map(({ server, params }) => `${server}/${String(params.name)}`)).toEqual(["a__b/c"]);
    await host.leave();
  });
});
