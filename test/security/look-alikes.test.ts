/** Attack 23: members that only some readers take for others, and arguments that are none, at the doors for hosts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ASKABLE, HOSTS, type HostKind, openHost, type ScenarioHost } from "../scenarios/host.js";
import { openStage, type Stage } from "../scenarios/stage.js";
import type { Json } from "../support/peers/host.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";

const kinds: readonly HostKind[] = Object.values(HOSTS);
const LISTENED = UPSTREAMS.filter(({ transport }) => transport === "http");
const [{ key: server } = { key: "" }] = LISTENED;

const echo: Json = { name: `${server}__echo`, arguments: { text: "judged" } };
const read: Json = { uri: `${server}+memo://one` };
const complete: Json = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "v" } };

/** Method, parameters, and the member that the refusal must name. */
const REFUSED: readonly (readonly [string, Json, string])[] = [
  ["tools/call", { ...echo, Name: `${server}__let_go` }, "Name"],
  ["tools/call", { NAME: `${server}__let_go`, ...echo }, "NAME"],
  ["tools/call", { ...echo, Arguments: { text: "hidden" } }, "Arguments"],
  ["tools/call", { ...echo, argumentſ: { text: "hidden" } }, "argumentſ"],
  ["tools/call", { ...echo, ａrguments: { text: "hidden" } }, "ａrguments"],
  ["tools/call", { ...echo, Task: {} }, "Task"],
  ["tools/call", { ...echo, taſK: {} }, "taſK"],
  ["tools/call", { ...echo, RequestState: "again:[]" }, "RequestState"],
  ["tools/call", { ...echo, ınputReſponses: {} }, "ınputReſponses"],
  ["tools/call", { ...echo, _Meta: { progressToken: 1 } }, "_Meta"],
  ["tools/call", { ...echo, _meta: { ProgressToken: 1 } }, "_meta.ProgressToken"],
  ["prompts/get", { name: "p", arguments: {}, Name: "q" }, "Name"],
  ["resources/read", { ...read, URI: `${server}+memo://secret` }, "URI"],
  ["resources/read", { ...read, urİ: `${server}+memo://secret` }, "urİ"],
  ["completion/complete", { ...complete, Ref: { type: "ref/prompt", name: "q" } }, "Ref"],
  [
    "completion/complete",
    { ...complete, ref: { ...(complete.ref as Json), ᴺame: "q", Name: "q" } },
    "ref.ᴺame",
  ],
  ["completion/complete", { ...complete, argument: { name: "a", value: "v", Value: "w" } }, "argument.Value"],
  ["tools/list", { Cursor: "x" }, "Cursor"],
  ["tools/call", { ...echo, arguments: ["hidden"] }, "arguments"],
  ["tools/call", { ...echo, arguments: "hidden" }, "arguments"],
  ["tools/call", { ...echo, arguments: 7 }, "arguments"],
  ["prompts/get", { name: "p", arguments: ["x"] }, "arguments"],
  ["completion/complete", { ...complete, argument: ["x"] }, "argument"],
  ["completion/complete", { ...complete, context: { arguments: "x" } }, "context.arguments"],
  ["ops/run", { name: `${server}__echo`, Name: `${server}__let_go` }, "Name"],
];

describe.each(kinds.map((kind) => [kind.name, kind] as const))("%s", (_name, kind) => {
  let stage: Stage;
  let host: ScenarioHost;
  beforeAll(async () => {
    stage = await openStage(LISTENED);
    host = await openHost(stage, kind, { capabilities: ASKABLE });
  });
  afterAll(() => stage.close());

  const begun = () =>
    LISTENED.flatMap((it) => stage.upstream(it).ledger()).filter(({ event }) => event === "begun").length;

  test("gets an error that names the ambiguous or invalid member, and no server gets the request", async () => {
    const before = begun();
    for (const [at, [method, params, member]] of REFUSED.entries()) {
      const { error } = await host.raw.send(`odd ${at}`, method, params);
      expect([member, error]).toMatchObject([
        member,
        { code: -32_602, message: expect.stringContaining(JSON.stringify(member)) },
      ]);
    }
    expect(begun()).toBe(before);
  });

  test("may use any unambiguous name for its own members, and any name for arguments", async () => {
    const params = {
      ...echo,
      arguments: { text: "free", Text: "T", Name: "n", _Meta: 1, ſ: 2 },
      "com.example/Name": 1,
      names: ["x"],
      vendor: { Name: "x", Arguments: [] },
      _meta: { "com.example/ProgressToken": 1, vendor: { ProgressToken: 1 } },
    };
    expect(await host.raw.send("free", "tools/call", params)).toMatchObject({
      result: { content: [{ text: "free" }] },
    });
  });

  test("cannot hide its identity, its capabilities or its subscriptions", async () => {
    const wire = await stage.enter(kind.door);
    const [sent, member] =
      kind.era === "legacy"
        ? ([
            {
              method: "initialize",
              params: {
                protocolVersion: "2025-11-25",
                capabilities: { elicitation: {}, Elicitation: { url: {} } },
                clientInfo: { name: "a", version: "1" },
              },
            },
            "capabilities.Elicitation",
          ] as const)
        : ([
            {
              method: "subscriptions/listen",
              params: {
                notifications: { resourceSubscriptions: [], ResourceSubscriptions: ["memo://secret"] },
                _meta: {
                  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": { roots: {} },
                },
              },
            },
            "notifications.ResourceSubscriptions",
          ] as const);
    expect((await wire.exchange({ jsonrpc: "2.0", id: "open", ...sent })).message).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining(JSON.stringify(member)) },
    });
    if (kind.era === "legacy") return;
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": { sampling: {}, Sampling: { tools: {} } },
    };
    const params = { ...echo, _meta: meta };
    expect(
      (await wire.exchange({ jsonrpc: "2.0", id: "c", method: "tools/call", params })).message,
    ).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining("Sampling") },
    });
  });
});
