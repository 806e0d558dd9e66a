/** Resource subscriptions at a legacy server. */
import { describe, expect, test, vi } from "vitest";
import { HTTP, legacyServer, RpcFailure } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { client, meet, settled } from "../../support/met-upstream.js";

fakeTime();

const over = { transport: HTTP };

describe("resource subscriptions", () => {
  test("are subscribed once, however many clients subscribe, and unsubscribed with the last", async () => {
    const server = legacyServer().on("resources/subscribe", {}).on("resources/unsubscribe", {});
    const { upstream, heard } = await meet(server);
    const stops = [
      upstream.resources.subscribe("x:a", undefined),
      upstream.resources.subscribe("x:a", client()),
    ];
    await settled();
    expect(server.sent("resources/subscribe").map(({ message }) => message.params)).toEqual([{ uri: "x:a" }]);
    server.channel.say("notifications/resources/updated", { uri: "x:a" });
    expect(heard.at(-1)).toBe("updated x:a @shared");
    stops[0]?.();
    stops[0]?.();
    await settled();
    expect(server.sent("resources/unsubscribe")).toHaveLength(0);
    stops[1]?.();
    await settled();
    expect(server.sent("resources/unsubscribe").map(({ message }) => message.params)).toEqual([
      { uri: "x:a" },
    ]);
  });

  test("are not subscribed again before the server has answered the unsubscribe", async () => {
    const leaving: (() => void)[] = [];
    const server = legacyServer()
      .on("resources/subscribe", {})
      .on("resources/unsubscribe", () => new Promise((answer) => leaving.push(() => answer({}))));
    const { upstream } = await meet(server, over);
    upstream.resources.subscribe("x:a", undefined)();
    upstream.resources.subscribe("x:a", undefined);
    upstream.resources.subscribe("x:b", undefined);
    await settled();
    const subscribed = () => server.sent("resources/subscribe").map(({ message }) => message.params?.uri);
    expect(subscribed()).toEqual(["x:a", "x:b"]);
    for (const answer of leaving) answer();
    await settled();
    expect(subscribed()).toEqual(["x:a", "x:b", "x:a"]);
  });

  test("are subscribed again after a restart of the server, with an update for what may have changed", async () => {
    const { server, upstream, heard } = await meet(legacyServer().on("resources/subscribe", {}));
    upstream.resources.subscribe("x:a", undefined);
    await settled();
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.sent("resources/subscribe").map(({ channel }) => channel)).toEqual([0, 1]);
    expect(heard.slice(-2)).toEqual(["ready @shared", "updated x:a @shared"]);
  });

  test("are refused with the server's own error", async () => {
    const server = legacyServer().on("resources/subscribe", ({ uri }) => {
      if (uri === "x:secret") throw new RpcFailure(-32602, "not yours");
      return {};
    });
    const { upstream } = await meet(server);
    const mine = client();
    for (const uri of ["x:a", "x:secret"]) upstream.resources.subscribe(uri, mine);
    expect(await upstream.resources.subscriptionError?.("x:a", mine)).toBeUndefined();
    expect(await upstream.resources.subscriptionError?.("x:secret", mine)).toEqual({
      code: -32602,
      message: "not yours",
    });
    expect(await upstream.resources.subscriptionError?.("x:never-followed", mine)).toBeUndefined();
  });

  test("are not sent if the server lacks the capability", async () => {
    const { server, upstream } = await meet(legacyServer({ capabilities: { resources: {} } }));
    upstream.resources.subscribe("x:a", undefined)();
    await settled();
    expect(server.sent("resources/subscribe")).toHaveLength(0);
  });
});
