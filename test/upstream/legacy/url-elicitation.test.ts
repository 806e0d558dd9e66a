/** Legacy servers that refuse a call until a person has visited a link. */

import { describe, expect, test, vi } from "vitest";
import { legacyServer, RpcFailure, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, client, failure, meet, resultOf, settled } from "../../support/met-upstream.js";
import { answering, asked, host, session, soon } from "./questions-support.js";

fakeTime();

describe("a server that requires a URL elicitation first", () => {
  const link = { mode: "url", elicitationId: "e1", url: "https://example.com/login", message: "log in" };
  const gated = () => {
    let open = false;
    const server = legacyServer().on("tools/call", () => {
      if (!open) throw new RpcFailure(-32042, "log in first", { elicitations: [link] });
      return { told: "welcome" };
    });
    return {
      server,
      visit: () => {
        open = true;
      },
    };
  };

  test("asks for it, and is called again after elicitation/complete", async () => {
    const { server, visit } = gated();
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { requests, state } = asked(await soon(upstream.call(first.call)));
    expect(requests).toEqual({
      elicitation_1: {
        method: "elicitation/create",
        params: { mode: "url", url: link.url, message: "files: log in" },
      },
    });
    const second = upstream.call(
      answering(first, { responses: { elicitation_1: { action: "accept" } }, state }).call,
    );
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.sent("tools/call")).toHaveLength(1);
    visit();
    server.channel.say("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(resultOf(await soon(second))).toEqual({ told: "welcome" });
  });

  test("that never completes is called again after a timeout", async () => {
    const { server, visit } = gated();
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    visit();
    const second = upstream.call(
      answering(first, { responses: { elicitation_1: { action: "accept" } }, state }).call,
    );
    await vi.advanceTimersByTimeAsync(120_000);
    expect(resultOf(await second)).toEqual({ told: "welcome" });
  });

  test("is not called again when the person declines", async () => {
    const { server } = gated();
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    const declined = answering(first, { responses: { elicitation_1: { action: "decline" } }, state });
    expect(await failure(upstream.call(declined.call))).toMatchObject({ code: "approval_declined" });
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("is passed to sessions that support the error, and to no others", async () => {
    const { server } = gated();
    const { upstream } = await meet(server);
    const old = session({ capabilities: {} });
    expect(await upstream.call(calling({ client: old }).call)).toMatchObject({ error: { code: -32042 } });
    expect(await upstream.call(calling({ client: client() }).call)).toMatchObject({
      error: { code: -32603 },
    });
  });

  test("sends elicitation/complete to no other client", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server, { lease: "shared" });
    const other = calling({ client: session() });
    void upstream.call(other.call).catch(() => {});
    await settled();
    server.channel.say("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(other.notices).toEqual([]);
  });

  test("sends elicitation/complete to the session that was asked", async () => {
    const server = legacyServer().on("tools/list", { tools: [] });
    const owner = session();
    const notify = vi.fn();
    const directory = { find: () => ({ client: owner, request: () => SILENCE, notify }) };
    const { upstream } = await meet(server, {}, { directory });
    await upstream.list("tools", owner, new AbortController().signal);
    server.channel.say("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(notify).toHaveBeenCalledWith({
      method: "notifications/elicitation/complete",
      params: { elicitationId: "e1" },
    });
    server.channels[0]?.say("notifications/message", { level: "info", data: "of everybody" });
    expect(notify).toHaveBeenCalledOnce();
  });
});
