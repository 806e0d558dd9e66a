/** Servers that return the integer id of a request as text: over HTTP, the HTTP+SSE transport and a pipe. */
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { MessageDemultiplexer } from "../../../src/upstream/transport/message-demultiplexer.js";
import { openSseChannel } from "../../../src/upstream/transport/sse.js";
import { type Envelope, integerInText } from "../../../src/wire/envelope.js";
import { HOSTS, openHost } from "../../scenarios/host.js";
import { openStage } from "../../scenarios/stage.js";
import { answer, event, json, scriptedServer, stream } from "../../support/servers/scripted-http.js";
import { failure, open, request, serve } from "./http-support.js";

const said = (id: unknown, more: object = { result: { ok: true } }) => ({ jsonrpc: "2.0", id, ...more });

describe("an id that comes back as text is the id of the request", () => {
  test.each([
    ["a document", (response: ServerResponse) => json(response, said("7"))],
    ["a batch", (response: ServerResponse) => json(response, [{ jsonrpc: "2.0", method: "x" }, said("7")])],
    ["a stream", (response: ServerResponse) => void stream(response, event(said("7"))).end()],
    ["a stream that stays open", (response: ServerResponse) => void stream(response, event(said("7")))],
  ])("in %s", async (_, respond) => {
    const server = await serve((_asked, response) => respond(response));
    const { message } = await open(server.url).exchange(request);
    expect(message).toMatchObject({ id: 7, result: { ok: true } });
  });

  test("in an error, with an error status too", async () => {
    const error = { code: -32001, message: "gone" };
    const server = await serve((_, response) => json(response, said("7", { error }), 404));
    expect((await open(server.url).exchange(request)).message).toEqual({ jsonrpc: "2.0", id: 7, error });
  });

  test("in an invalid response, which fails the call at once", async () => {
    const server = await serve((_, response) => {
      stream(response, event(said("7", { result: "no object" })));
    });
    expect((await failure(open(server.url).exchange(request))).message).toContain(
      "its response is not valid",
    );
  });

  test("over the HTTP+SSE transport", async () => {
    let events: ServerResponse | undefined;
    const server = await serve((asked, response) => {
      if (asked.method === "GET") events = stream(response, "event: endpoint\ndata: /messages\n\n");
      else {
        events?.write(event(said(String(asked.id))));
        response.writeHead(202).end();
      }
    });
    const channel = await openSseChannel({
      name: "quiz",
      url: server.url,
      headers: {},
      connectTimeoutMs: 60_000,
    });
    onTestFinished(() => channel.close());
    expect((await channel.exchange(request)).message).toMatchObject({ id: 7, result: { ok: true } });
  });

  test.each(["07", " 7", "7.0", "+7", "7e0", "0x7", "", "８", "1".repeat(400), "null"])(
    "only in its plain form, not as %j",
    async (id) => {
      const server = await serve((_, response) => json(response, said(id)));
      expect((await failure(open(server.url).exchange(request))).message).toContain("not the response");
    },
  );

  test("as far as integers are exact", () => {
    expect(["0", "-1", "999999999999999", "9007199254740993", 7, null].map(integerInText)).toEqual([
      0,
      undefined,
      999_999_999_999_999,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("on a shared connection", () => {
  const shared = () => {
    const onUnmatchedMessage = vi.fn<(message: Envelope) => void>();
    return { messages: new MessageDemultiplexer({ onUnmatchedMessage }), onUnmatchedMessage };
  };

  test("a text is the request with that text where there is one, and else the integer", async () => {
    const { messages, onUnmatchedMessage } = shared();
    const [text, integer] = [messages.wait("1", undefined), messages.wait(1, undefined)];
    messages.deliver(said("1", { result: { first: true } }) as Envelope);
    expect((await text).message).toMatchObject({ id: "1", result: { first: true } });
    messages.deliver(said("1", { result: { first: false } }) as Envelope);
    expect((await integer).message).toMatchObject({ id: 1, result: { first: false } });
    messages.deliver(said("1") as Envelope);
    expect(onUnmatchedMessage).toHaveBeenCalledTimes(1);
  });

  test("many requests get their own responses", async () => {
    const { messages } = shared();
    const waiting = Array.from({ length: 50 }, (_, id) => messages.wait(id, undefined));
    for (let id = 49; id >= 0; id -= 1)
      messages.deliver(said(id % 2 === 0 ? id : `${id}`, { result: { id } }) as Envelope);
    expect((await Promise.all(waiting)).map(({ message }) => message.result?.id)).toEqual(
      waiting.map((_, id) => id),
    );
  });
});

test.each([HOSTS.legacyHttp, HOSTS.modernHttp])("a server that does so serves $name", async (kind) => {
  const server = await scriptedServer((asked, response) => {
    if (asked.method !== "POST") return void response.writeHead(405).end();
    if (asked.id === undefined) return void response.writeHead(202).end();
    const { method } = JSON.parse(asked.body) as { method: string };
    const textual = { ...asked, id: String(asked.id) };
    if (method === "initialize") {
      const serverInfo = { name: "texts", version: "1" };
      return answer(textual, response, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo,
      });
    }
    if (method === "tools/list")
      return answer(textual, response, { tools: [{ name: "look", inputSchema: { type: "object" } }] });
    if (method !== "tools/call") return json(response, {}, 400);
    stream(response, event(said(textual.id, { result: { content: [] } }))).end();
  });
  onTestFinished(() => server.close());
  const stage = await openStage([], {
    config: { mcpServers: { texts: { type: "http", url: server.url, protocol: "legacy" } } },
  });
  onTestFinished(() => stage.close());
  const host = await openHost(stage, kind);
  expect(await host.call("texts__look", {}).outcome).toMatchObject({ result: { content: [] } });
});
