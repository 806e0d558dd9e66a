/** Sessions of a host whose credentials change: a token that is renewed, or that grants more or less than before. */
import { expect, onTestFinished, test } from "vitest";
import type { Principal } from "../../../src/core/client.js";
import {
  type Authentication,
  NO_AUTHENTICATION,
} from "../../../src/downstream/authenticate/authentication.js";
import { createLegacyEdge } from "../../../src/downstream/legacy/edge.js";
import { createHttpSse } from "../../../src/downstream/legacy/http-sse.js";
import { fakePort, textReply } from "../../support/fake-port.js";
import { hearing, open, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const PEOPLE = new Map<string, Principal>(
  [
    { id: "ann", groups: [], claims: { scope: "little" } },
    { id: "ann", groups: [], claims: { scope: "much" } },
    { id: "bob", groups: [], claims: { scope: "all" } },
  ].map((principal) => [`Bearer ${principal.id}-${principal.claims.scope}`, principal]),
);
const authentication: Authentication = {
  ...NO_AUTHENTICATION,
  isRequired: true,
  authenticate: ({ headers }) => {
    const found = PEOPLE.get(headers.authorization ?? "");
    if (found === undefined) throw new Error("the test knows nobody of this name");
    return found;
  },
};

async function gateway() {
  const port = fakePort({ handlers: { "tools/call": () => textReply("done") } });
  const edge = createLegacyEdge({ gateway: port, sessions: { max: 9, idleMs: 60_000 }, keepAliveMs: 15_000 });
  const sse = createHttpSse({ edge, keepAliveMs: 15_000 });
  const { url, origin } = await listening({ gateway: port, legacy: edge, sse, authentication });
  const scopes = () =>
    port.calls.map(({ client }) => `${client.principal.id} ${String(client.principal.claims.scope)}`);
  return { port, url, origin, scopes };
}
const headersOf = (who: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${who}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  ...more,
});
const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});
const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
const call = (id: number) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "t" } });

test("each call of a session is evaluated with its own token", async () => {
  const { url, port, scopes } = await gateway();
  const opened = await send(url, { headers: headersOf("ann-little"), body: initialize });
  const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
  const tokens = ["ann-little", "ann-much", "ann-much", "ann-little"];
  for (const [id, who] of tokens.entries()) {
    const answer = await send(url, { headers: headersOf(who, session), body: call(id) });
    expect(answer.status).toBe(200);
  }
  expect(scopes()).toEqual(["ann little", "ann much", "ann much", "ann little"]);
  // It stays the session that it is, with everything that is kept for it.
  expect(new Set(port.calls.map(({ client }) => client.affinity)).size).toBe(1);
  const [, second, third] = port.calls;
  expect(second?.client).toBe(third?.client);
  const stolen = await send(url, { headers: headersOf("bob-all", session), body: call(9) });
  expect([stolen.status, port.calls.length]).toEqual([404, 4]);
});

test("messages to a session between its calls go by the newest token, without duplicates", async () => {
  const { url, port } = await gateway();
  const opened = await send(url, { headers: headersOf("ann-little"), body: initialize });
  const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
  await send(url, { headers: headersOf("ann-little", session), body: initialized });
  const stream = await open(url, { method: "GET", headers: headersOf("ann-little", session) });
  onTestFinished(() => void stream.destroy());
  const heard = hearing(stream);
  expect(port.interests).toHaveLength(1);
  await send(url, { headers: headersOf("ann-much", session), body: call(1) });
  expect(port.interests).toHaveLength(1);
  port.publish({ kind: "list", list: "tools" });
  port.publish({ kind: "list", list: "tools" });
  expect((await heard(2)).map(({ method }) => method)).toEqual([
    "notifications/tools/list_changed",
    "notifications/tools/list_changed",
  ]);
});

test("also on the transport of 2024-11-05, whose stream one principal cannot use for another", async () => {
  const { origin, port, scopes } = await gateway();
  const stream = await open(`${origin}/sse`, { method: "GET", headers: headersOf("ann-little") });
  onTestFinished(() => void stream.destroy());
  let text = "";
  const endpoint = await new Promise<string>((found) => {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const [, path] = /data: (\/messages\S+)\n/.exec(text) ?? [];
      if (path !== undefined) found(origin + path);
    });
  });
  const told = (words: string) =>
    new Promise<void>((heard) => {
      const look = () => text.includes(words) && heard();
      stream.on("data", look);
      look();
    });
  for (const [who, body, words] of [
    ["ann-little", initialize, '"id":1'],
    ["ann-little", call(2), '"id":2'],
    ["ann-much", call(3), '"id":3'],
  ] as const) {
    expect((await send(endpoint, { headers: headersOf(who), body })).status).toBe(202);
    await told(words);
  }
  expect(scopes()).toEqual(["ann little", "ann much"]);
  const stolen = await send(endpoint, { headers: headersOf("bob-all"), body: call(4) });
  expect([stolen.status, port.calls.length]).toEqual([404, 2]);
});
