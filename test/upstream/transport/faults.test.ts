/** Answers over HTTP whose connection is slow, reset or cut on the way, or goes silent. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { GatewayError } from "../../../src/core/errors.js";
import { openHttpChannel } from "../../../src/upstream/transport/http.js";
import { type FaultProxy, type Faults, faultProxy } from "../../support/fault-proxy.js";
import { sample } from "../../support/sample.js";
import { answer, event, type Respond, scriptedServer, stream } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";

async function behind(respond: Respond, faults: Faults = {}) {
  const server = await scriptedServer(respond);
  onTestFinished(() => server.close());
  const proxy: FaultProxy = await faultProxy(server.url, faults);
  onTestFinished(() => proxy.close());
  const channel = openHttpChannel({ name: "quiz", url: proxy.url, headers: {}, connectTimeoutMs: 60_000 });
  onTestFinished(() => channel.close());
  return { server, proxy, channel };
}

const request = { jsonrpc: "2.0", id: 1, method: "x" } as const;
const result = { text: 'é 世 👩‍💻 \\" \u2028' };
const asStream: Respond = (asked, response) => {
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { text: result.text } };
  stream(
    response,
    ": hi\r\nretry: 1\r\n\r\n",
    event(progress, "1"),
    event({ jsonrpc: "2.0", id: asked.id, result }),
  ).end();
};
const asDocument: Respond = (asked, response) => answer(asked, response, result);

const BREAKS = (["reset", "end"] as const).flatMap((fault) =>
  Array.from({ length: 60 }, (_, at) => ({ fault, afterBytes: 1 + 7 * at })),
);

describe.each([
  ["a document", asDocument, 0],
  ["an event stream", asStream, 1],
] as const)("%s", (_, respond, notices) => {
  test("that comes byte by byte is the same response", async () => {
    const { channel } = await behind(respond, { sliceBytes: 1 });
    const heard: unknown[] = [];
    const got = await channel.exchange(request, { onMessage: (message) => heard.push(message.params?.text) });
    expect(got.message.result).toEqual(result);
    expect(heard).toEqual(Array.from({ length: notices }, () => result.text));
  });

  test("that is reset at any byte fails the call once, and the next call works", async () => {
    // The first event has an id, and this server cannot resume.
    let received = 0;
    const { channel, proxy } = await behind((asked, response) => {
      if (asked.method === "GET") {
        response.writeHead(405).end();
        return;
      }
      received += 1;
      respond(asked, response);
    });
    for (const { fault, afterBytes } of sample("breaks", BREAKS, 30)) {
      Object.assign(proxy.faults, { afterBytes, fault });
      const before = received;
      const outcome = await channel.exchange(request).then(
        ({ message }) => message.result,
        (error: GatewayError) => error.code,
      );
      // A kept connection may break before the request is written. Else a response is whole, or there is none.
      if (outcome === "upstream_unavailable") expect(received).toBe(before);
      else if (outcome !== "upstream_closed") expect(outcome).toEqual(result);
      if (afterBytes < 100) expect(outcome).toBe("upstream_closed");
    }
    Object.assign(proxy.faults, { afterBytes: undefined, fault: undefined });
    expect((await channel.exchange(request)).message.result).toEqual(result);
    await channel.close();
    await until("the connections to close", () => proxy.open === 0);
  });
});

test("a call to a server that vanished without closing (half-open) can be cancelled, which frees its connection", async () => {
  const { channel, proxy, server } = await behind(asDocument, { afterBytes: 40, fault: "stall" });
  const quitter = new AbortController();
  const given = channel.exchange(request, { signal: quitter.signal });
  await server.request(0);
  quitter.abort();
  await expect(given).rejects.toMatchObject({ code: "cancelled" });
  await until("the connection to close", () => proxy.open === 0);
});
