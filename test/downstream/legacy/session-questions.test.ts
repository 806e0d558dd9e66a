/** Notifications and questions of servers to legacy sessions outside of calls. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { CAN_ALL, ROOTS } from "./questions-support.js";
import { edgeHost, edgeServer } from "./support.js";

describe("what a server sends between calls", () => {
  const tell = (
    server: Awaited<ReturnType<typeof edgeServer>>,
    id: string,
    method: string,
    params: JsonObject,
  ) => server.edge.directory.find(id)?.notify?.({ method, params });

  test("is sent to the client that subscribed to it, and to no other", async () => {
    const server = await edgeServer();
    const [host, deaf] = [await server.host({ version: "2025-06-18" }), await server.host()];
    const events = await host.listen();
    await host.request("logging/setLevel", { level: "error" });
    tell(server, deaf.sessionId, "notifications/message", { level: "error", data: "nobody listens" });
    tell(server, host.sessionId, "notifications/message", { level: "info", data: "too quiet" });
    tell(server, host.sessionId, "notifications/progress", { progressToken: 1, progress: 1 });
    tell(server, host.sessionId, "notifications/elicitation/complete", { elicitationId: "e" });
    tell(server, host.sessionId, "notifications/message", { level: "alert", data: "loud" });
    expect(await events.message()).toMatchObject({ params: { data: "loud" } });
    const late = await deaf.listen();
    await Promise.all([host.delete(), deaf.delete()]);
    expect([await events.rest(), await late.rest()]).toEqual([[], []]);
  });
});

describe("between calls", () => {
  const ask = (server: { edge: { directory: { find(id: string): unknown } } }, id: string) =>
    server.edge.directory.find(id) as
      | { request(request: object, signal: AbortSignal): Promise<object> }
      | undefined;

  test("a client is asked on its GET stream", async () => {
    const { server, host } = await edgeHost({}, { capabilities: CAN_ALL });
    const answer = ask(server, host.sessionId)?.request(ROOTS, new AbortController().signal);
    const events = await host.listen();
    const question = await events.message();
    expect(question).toEqual({ jsonrpc: "2.0", id: question.id, method: "roots/list" });
    await host.respond(question.id, { roots: [{ uri: "file:///a" }] });
    expect(await answer).toEqual({ roots: [{ uri: "file:///a" }] });
    await events.cancel();
  });

  test("a question rejects with the client's error where it refuses or is gone", async () => {
    const server = await edgeServer();
    const signal = new AbortController().signal;
    const mute = await server.host();
    await mute.listen();
    await expect(ask(server, mute.sessionId)?.request(ROOTS, signal)).rejects.toMatchObject({
      options: { rpc: -32601 },
    });
    const host = await server.host({ capabilities: CAN_ALL });
    const stream = await host.listen();
    const refused = expect(ask(server, host.sessionId)?.request(ROOTS, signal)).rejects.toMatchObject({
      message: "no roots today",
      options: { rpc: -5 },
    });
    const { id } = await stream.message();
    await host.post({ jsonrpc: "2.0", id, error: { code: -5, message: "no roots today" } });
    await refused;
    const open = expect(ask(server, host.sessionId)?.request(ROOTS, signal)).rejects.toMatchObject({
      code: "cancelled",
    });
    await stream.message();
    await host.delete();
    await open;
    expect(ask(server, host.sessionId)).toBeUndefined();
  });

  test("cancelling the question sends notifications/cancelled to the client", async () => {
    const { server, host } = await edgeHost({}, { capabilities: CAN_ALL });
    const events = await host.listen();
    const giveUp = new AbortController();
    const answer = expect(ask(server, host.sessionId)?.request(ROOTS, giveUp.signal)).rejects.toMatchObject({
      code: "cancelled",
    });
    const { id } = await events.message();
    giveUp.abort();
    await answer;
    expect(await events.message()).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: id },
    });
    await events.cancel();
  });
});
