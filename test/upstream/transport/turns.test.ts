/** No server holds the event loop with the number of its messages: they are delivered in turns, in order, all of them. */
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Channel } from "../../../src/upstream/transport/channel.js";
import { openSseChannel } from "../../../src/upstream/transport/sse.js";
import { openStdioChannel } from "../../../src/upstream/transport/stdio.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import { event, json, stream } from "../../support/servers/scripted-http.js";
import { open, request, serve } from "./http-support.js";

const COUNT = 20_000;
/** What a step and the chunk of the same turn deliver at once. */
const MOST_IN_A_TURN = 2 * 512;

const note = (at: number) => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { level: "info", data: at },
});
const NOTES = Array.from({ length: COUNT }, (_, at) => note(at));
const PINGS = Array.from({ length: 2_000 }, (_, id) => ({ jsonrpc: "2.0", id: `p${id}`, method: "ping" }));
const RESPONSE = { jsonrpc: "2.0", id: 7, result: { ok: true } };

/** Counts the messages of each turn of the event loop. */
function turnsOf() {
  const heard: unknown[] = [];
  let most = 0;
  let now = 0;
  let going = true;
  const turn = () => {
    most = Math.max(most, now);
    now = 0;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  onTestFinished(() => {
    going = false;
  });
  const onMessage = ({ params }: Envelope) => {
    heard.push(params?.data);
    now += 1;
  };
  return { heard, onMessage, most: () => Math.max(most, now) };
}

const inOrder = Array.from({ length: COUNT }, (_, at) => at);

/** A process that runs `script` when it is asked for anything; `say` writes text. */
async function serverProcess(script: string, { andExit = false } = {}): Promise<Channel> {
  const source = `
    const N = ${COUNT};
    const note = (at) => '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":' + at + '}}';
    const response = '{"jsonrpc":"2.0","id":7,"result":{"ok":true}}';
    const notes = Array.from({ length: N }, (_, at) => note(at));
    process.stdin.once("data", () => process.stdout.write(${script}${andExit ? ", () => process.exit(0)" : ""}));`;
  const channel = await openStdioChannel({
    name: "quiz",
    command: process.execPath,
    args: ["-e", source],
    env: {},
    cwd: process.cwd(),
    graceMs: 400,
  });
  onTestFinished(() => channel.close());
  return channel;
}

describe("20,000 notifications of a process", () => {
  test.each([
    ["in one line", `"[" + notes.join() + "]\\n" + response + "\\n"`],
    ["with the response in the same line", `"[" + notes.join() + "," + response + "]\\n"`],
    ["in lines of their own", `notes.join("\\n") + "\\n" + response + "\\n"`],
    [
      "in lines of seven",
      `notes.reduce((text, one, at) => text + (at % 7 ? "," : at ? "]\\n[" : "[") + one, "") + "]\\n" + response + "\\n"`,
    ],
    ["between lines that are no messages", `notes.join("\\nbusy\\n\\n") + "\\n" + response + "\\n"`],
  ])("%s are delivered in turns, in order, before the response", async (_how, script) => {
    const channel = await serverProcess(script);
    const { heard, onMessage, most } = turnsOf();
    channel.listen(onMessage);
    const { message } = await channel.exchange(request);
    expect(message.result).toEqual({ ok: true });
    expect(heard).toEqual(inOrder);
    expect(most()).toBeLessThanOrEqual(MOST_IN_A_TURN);
  });

  test("are all delivered, and its response is, where the process exits right after them", async () => {
    const channel = await serverProcess(
      `"[" + notes.join() + "]\\n" + notes.join("\\n") + "\\n" + response + "\\n"`,
      {
        andExit: true,
      },
    );
    const { heard, onMessage } = turnsOf();
    channel.listen(onMessage);
    const { message } = await channel.exchange(request);
    expect(message.result).toEqual({ ok: true });
    expect(heard).toEqual([...inOrder, ...inOrder]);
    await channel.closed;
  });
});

describe("20,000 messages over HTTP", () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ["in one event", (response) => void stream(response, event(NOTES), event(RESPONSE)).end()],
    [
      "in events of their own, in one chunk",
      (response) => void stream(response, NOTES.map((one) => event(one)).join("") + event(RESPONSE)).end(),
    ],
    [
      "in one event with the response",
      (response) => void stream(response, event([...NOTES, RESPONSE])).end(),
    ],
    ["in one JSON document", (response) => json(response, [...NOTES, RESPONSE])],
    [
      "in events that are cut off after the response",
      (response) => {
        const text = NOTES.map((one) => event(one)).join("") + event(RESPONSE);
        stream(response).write(text, () => response.destroy());
      },
    ],
  ])("%s are delivered in turns, in order, before the response", async (_how, respond) => {
    const server = await serve((_asked, response) => respond(response));
    const { heard, onMessage, most } = turnsOf();
    const { message } = await open(server.url).exchange(request, { onMessage });
    expect(message.result).toEqual({ ok: true });
    expect(heard).toEqual(inOrder);
    expect(most()).toBeLessThanOrEqual(MOST_IN_A_TURN);
  });

  test("on the stream of a listener are delivered in turns, in order, across its end", async () => {
    let opened = 0;
    const server = await serve((_asked, response) => {
      opened += 1;
      if (opened === 1) stream(response, NOTES.map((one, at) => event(one, String(at))).join("")).end();
      else stream(response, event(note(COUNT), "last"));
    });
    const { heard, onMessage, most } = turnsOf();
    const done = new Promise<void>((resolve) => {
      const { stop } = open(server.url).listen((message) => {
        onMessage(message);
        if (message.params?.data === COUNT) resolve();
      });
      onTestFinished(stop);
    });
    await done;
    expect(heard).toEqual([...inOrder, COUNT]);
    expect(server.asked[1]?.headers["last-event-id"]).toBe(String(COUNT - 1));
    expect(most()).toBeLessThanOrEqual(MOST_IN_A_TURN);
  });

  test("on the one stream of HTTP+SSE are delivered in turns, in order, before the response", async () => {
    let events: ServerResponse | undefined;
    const server = await serve((asked, response) => {
      if (asked.method === "GET") events = stream(response, "event: endpoint\ndata: /messages\n\n");
      else {
        response.writeHead(202).end();
        events?.end(event(NOTES) + event(RESPONSE));
      }
    });
    const channel = await openSseChannel({
      name: "quiz",
      url: `${server.origin}/sse`,
      headers: {},
      connectTimeoutMs: 60_000,
    });
    onTestFinished(() => channel.close());
    const { heard, onMessage, most } = turnsOf();
    channel.listen(onMessage);
    const { message } = await channel.exchange(request);
    expect(message.result).toEqual({ ok: true });
    expect(heard).toEqual(inOrder);
    expect(most()).toBeLessThanOrEqual(MOST_IN_A_TURN);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ["in one JSON document", (response) => json(response, [...PINGS, RESPONSE])],
    ["in one event", (response) => void stream(response, event(PINGS), event(RESPONSE)).end()],
    [
      "in events of their own",
      (response) => void stream(response, PINGS.map((one) => event(one)).join("") + event(RESPONSE)).end(),
    ],
  ])("that are requests, %s, are delivered some in a turn, since each is answered", async (_how, respond) => {
    const server = await serve((_asked, response) => respond(response));
    const { heard, onMessage, most } = turnsOf();
    await open(server.url).exchange(request, { onMessage });
    expect(heard).toHaveLength(PINGS.length);
    expect(most()).toBeLessThanOrEqual(MOST_IN_A_TURN / 16);
  });

  test("of which the call is cancelled in between are not delivered any further", async () => {
    const server = await serve(
      (_asked, response) => void stream(response, event(NOTES), event(RESPONSE)).end(),
    );
    const giveUp = new AbortController();
    const { heard, onMessage } = turnsOf();
    const asked = open(server.url).exchange(request, {
      signal: giveUp.signal,
      onMessage: (message) => {
        onMessage(message);
        if (heard.length === 600) giveUp.abort();
      },
    });
    await expect(asked).rejects.toMatchObject({ code: "cancelled" });
    expect(heard.length).toBe(600);
  });
});
