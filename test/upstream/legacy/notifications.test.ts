/** Progress and log messages of a legacy server, and to which call they belong. */
import { describe, expect, test, vi } from "vitest";
import { HTTP, legacyServer, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, client, meet, settled } from "../../support/met-upstream.js";

fakeTime();

const over = { transport: HTTP };
const text = (words: string) => ({ content: [{ type: "text", text: words }] });

describe("progress", () => {
  test("is sent to the client of its call, with that client's own token of its own type", async () => {
    const server = legacyServer().on("tools/call", async (params, asked) => {
      const token = (params._meta as { progressToken: number }).progressToken;
      const progress = (params.arguments as { progress: number }).progress;
      await Promise.resolve();
      asked.say("notifications/progress", { progressToken: token, progress, vendor: 1 });
      return text("done");
    });
    const { upstream } = await meet(server);
    // Equal tokens, one of them a string: two clients know nothing of each other.
    const calls = [7, "7", 7].map((progressToken, index) =>
      calling({ params: { name: "echo", arguments: { progress: index }, _meta: { progressToken } } }),
    );
    await Promise.all(calls.map(({ call }) => upstream.call(call)));
    expect(calls.map(({ notices }) => notices)).toEqual(
      [7, "7", 7].map((progressToken, progress) => [
        { method: "notifications/progress", params: { progressToken, progress, vendor: 1 } },
      ]),
    );
    const tokens = server.sent("tools/call").map(({ message }) => message.params?._meta);
    expect(new Set(tokens.map((meta) => JSON.stringify(meta))).size).toBe(3);
  });

  test("is attributed by a token that the server returns as text", async () => {
    const server = legacyServer().on("tools/call", async (params, asked) => {
      const token = (params._meta as { progressToken: number }).progressToken;
      await Promise.resolve();
      asked.say("notifications/progress", { progressToken: String(token), progress: 1 });
      return text("done");
    });
    const { upstream } = await meet(server);
    const { call, notices } = calling({ params: { name: "echo", _meta: { progressToken: "mine" } } });
    await upstream.call(call);
    expect(notices).toEqual([
      { method: "notifications/progress", params: { progressToken: "mine", progress: 1 } },
    ]);
  });

  test("is not requested when the client did not", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", text("hi")));
    await upstream.call(calling().call);
    expect(server.params("tools/call")).not.toHaveProperty("_meta");
  });

  test("on the event stream is attributed by its token", async () => {
    const { server, upstream } = await meet(
      legacyServer().on("tools/call", () => SILENCE),
      over,
    );
    const mine = calling({ params: { name: "echo", _meta: { progressToken: "t" } } });
    const others = calling({ params: { name: "echo", _meta: { progressToken: "t" } } });
    void upstream.call(mine.call).catch(() => {});
    void upstream.call(others.call).catch(() => {});
    await settled();
    const token = server.sent("tools/call")[0]?.message.id;
    server.channel.say("notifications/progress", { progressToken: token, progress: 1 });
    server.channel.say("notifications/progress", { progressToken: "t", progress: 2 });
    expect(mine.notices).toHaveLength(1);
    expect(others.notices).toHaveLength(0);
  });
});

describe("a log line", () => {
  const logging = (level = "info") =>
    legacyServer().on("tools/call", async (params, asked) => {
      await Promise.resolve();
      asked.say("notifications/message", { level, data: params.name });
      return SILENCE;
    });

  test("on the stream of a call belongs to that call, however many there are", async () => {
    const { upstream } = await meet(logging(), over);
    const calls = ["a", "b", "c"].map((name) => calling({ params: { name } }));
    for (const { call } of calls) void upstream.call(call).catch(() => {});
    await settled();
    expect(calls.map(({ notices }) => notices.map(({ params }) => params?.data))).toEqual([
      ["a"],
      ["b"],
      ["c"],
    ]);
  });

  test("on a pipe belongs to the only running call", async () => {
    const { upstream } = await meet(logging());
    const only = calling({ params: { name: "a" } });
    void upstream.call(only.call).catch(() => {});
    await settled();
    expect(only.notices).toHaveLength(1);
  });

  test("on a pipe belongs to no call while two are running", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", () => SILENCE));
    const calls = [calling(), calling()];
    for (const { call } of calls) void upstream.call(call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "error", data: "whose?" });
    expect(calls.flatMap(({ notices }) => notices)).toEqual([]);
  });

  test("on a pipe may be a late one of another client's call, and is then dropped", async () => {
    const server = legacyServer().on("tools/call", (params) =>
      params.name === "quick" ? text("hi") : SILENCE,
    );
    const { upstream } = await meet(server);
    const mine = client();
    await upstream.call(calling({ params: { name: "quick" } }).call);
    const slow = calling({ client: mine });
    void upstream.call(slow.call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "error", data: "late" });
    expect(slow.notices).toEqual([]);
    await vi.advanceTimersByTimeAsync(10_001);
    server.channel.say("notifications/message", { level: "error", data: "mine" });
    expect(slow.notices).toHaveLength(1);
  });

  test("on a pipe may belong to a parked call, and is then dropped", async () => {
    const server = legacyServer()
      .on("tools/call", async (_params, ask) => {
        await ask.ask("elicitation/create", { message: "who?" });
        return {};
      })
      .on("completion/complete", () => SILENCE);
    const { upstream } = await meet(server);
    const host = client({ capabilities: { elicitation: {} } });
    const parked = upstream.call(calling({ client: host }).call);
    await vi.advanceTimersByTimeAsync(100);
    expect(await parked).toMatchObject({ kind: "input_required" });
    const other = calling({ client: host, method: "completion/complete", params: {} });
    void upstream.call(other.call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "error", data: "whose?" });
    expect(other.notices).toEqual([]);
  });

  test("below the client's level is dropped", async () => {
    const { upstream } = await meet(logging("info"), over);
    const loud = calling({ logLevel: "debug" });
    const quiet = calling({ logLevel: "warning" });
    for (const { call } of [loud, quiet]) void upstream.call(call).catch(() => {});
    await settled();
    expect(loud.notices).toHaveLength(1);
    expect(quiet.notices).toHaveLength(0);
  });
});
