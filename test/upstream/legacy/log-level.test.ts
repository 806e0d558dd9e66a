/** The log level of a legacy server that several hosts share. */

import { describe, expect, test, vi } from "vitest";
import { type FakeServer, legacyServer, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, client, failure, meet, settled } from "../../support/met-upstream.js";

fakeTime();

describe("the level of a server's log", () => {
  const levels = (server: FakeServer): readonly unknown[] =>
    server.sent("logging/setLevel").map(({ message }) => message.params?.level);

  test("is the most verbose of all calls on the connection, set before the call", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", {}).on("logging/setLevel", {}));
    for (const logLevel of ["warning", "error", "debug", "info"] as const)
      await upstream.call(calling({ logLevel }).call);
    await upstream.call(calling().call);
    expect(levels(server)).toEqual(["warning", "debug"]);
    const order = server.received
      .map(({ message }) => message.method)
      .filter((method) => method === "tools/call" || method === "logging/setLevel");
    expect(order.slice(0, 2)).toEqual(["logging/setLevel", "tools/call"]);
  });

  test("is debug where a session without a level shares the connection", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", {}).on("logging/setLevel", {}));
    const plain = () => calling({ client: client({ session: true }) }).call;
    await upstream.call(plain());
    expect(levels(server)).toEqual([]);
    await upstream.call(calling({ logLevel: "error" }).call);
    expect(levels(server)).toEqual(["debug"]);
    const other = legacyServer().on("tools/call", {}).on("logging/setLevel", {});
    const late = await meet(other);
    await late.upstream.call(calling({ logLevel: "error" }).call);
    await late.upstream.call(plain());
    expect(levels(other)).toEqual(["error", "debug"]);
  });

  test("is not set if the server does not log, and a server that fails to set it is still called", async () => {
    const silent = legacyServer({ capabilities: { tools: {} } }).on("tools/call", {});
    const first = await meet(silent);
    await first.upstream.call(calling({ logLevel: "debug" }).call);
    expect(levels(silent)).toEqual([]);
    const failing = legacyServer().on("tools/call", {});
    const second = await meet(failing);
    expect(await second.upstream.call(calling({ logLevel: "debug" }).call)).toMatchObject({ kind: "result" });
  });

  test("is not awaited after a cancel or a timeout, if the server does not respond", async () => {
    const server = legacyServer()
      .on("tools/call", {})
      .on("logging/setLevel", () => SILENCE);
    const { upstream } = await meet(server);
    const impatient = calling({ logLevel: "error" });
    const given = failure(upstream.call(impatient.call));
    await settled();
    impatient.giveUp();
    expect((await given).code).toBe("cancelled");
    expect(server.sent("tools/call")).toHaveLength(0);
    const patient = upstream.call(calling({ logLevel: "debug" }).call);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await patient).toMatchObject({ kind: "result" });
  });
});
