/** What a modern server offers may depend on what its client can be asked. */
import { expect, onTestFinished, test, vi } from "vitest";
import { type JsonObject, objectAt } from "../../../src/wire/json.js";
import { META } from "../../../src/wire/names.js";
import { modernServer, RpcFailure, SILENCE } from "../../support/fake-channel.js";
import { client, meet } from "../../support/met-upstream.js";

const askable = { elicitation: { form: {} } };
const never = () => new AbortController().signal;
const capabilitiesOf = (params: Record<string, unknown>) =>
  objectAt(objectAt(params, "_meta"), META.clientCapabilities);

/** Offers tools to those who can be asked, and nothing to the others. */
const choosy = () =>
  modernServer({ capabilities: {} })
    .on("tools/list", {
      tools: [{ name: "interview", inputSchema: { type: "object" } }],
      ttlMs: 0,
      cacheScope: "private",
    })
    .on("server/discover", (params) => ({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: objectAt(capabilitiesOf(params) ?? {}, "elicitation") === undefined ? {} : { tools: {} },
    }));

test("clients that can be asked are discovered once per capability class, and list what is offered to them", async () => {
  const { server, upstream } = await meet(choosy());
  const host = client({ capabilities: askable });
  expect((await upstream.list("tools", host, never())).items).toMatchObject([{ name: "interview" }]);
  expect((await upstream.list("tools", client({ capabilities: askable }), never())).items).toHaveLength(1);
  expect((await upstream.list("tools", client(), never())).items).toEqual([]);
  expect(server.sent("server/discover").map(({ message }) => capabilitiesOf(message.params ?? {}))).toEqual([
    {},
    askable,
  ]);
});

test("a server whose discovery fails for a class has its general capabilities there", async () => {
  const server = modernServer().on("tools/list", {
    tools: [{ name: "echo", inputSchema: { type: "object" } }],
    ttlMs: 0,
    cacheScope: "private",
  });
  const { upstream } = await meet(server);
  server.on("server/discover", () => {
    throw new RpcFailure(-32603, "not now");
  });
  expect((await upstream.list("tools", client({ capabilities: askable }), never())).items).toMatchObject([
    { name: "echo" },
  ]);
});

test("a server that was replaced by one with other capabilities is detected by a health check", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const offering = (capabilities: JsonObject) =>
    modernServer({ capabilities }).methods.get("server/discover");
  const server = modernServer({ capabilities: { tools: {} } })
    .on("prompts/list", { prompts: [{ name: "greet" }], ttlMs: 0, cacheScope: "private" })
    .on("subscriptions/listen", () => SILENCE);
  const { upstream, heard } = await meet(server);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heard).toEqual(["ready @shared"]);
  server.on("server/discover", offering({ tools: {}, prompts: { listChanged: true } }) ?? {});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heard).toContain("prompts @shared");
  expect(upstream.facts?.capabilities).toHaveProperty("prompts");
  for (const host of [undefined, client({ capabilities: askable })]) {
    expect((await upstream.list("prompts", host, never())).items).toEqual([{ name: "greet" }]);
  }
  await vi.advanceTimersByTimeAsync(100);
  expect(server.params("subscriptions/listen")).toMatchObject({
    notifications: { promptsListChanged: true },
  });
});
