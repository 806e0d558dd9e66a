/** However often a stream is lost, and wherever: its host gets every message once, in order. */
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { expect, test } from "vitest";
import { SessionStreams } from "../../../src/downstream/legacy/session-streams.js";
import fc from "../../support/fast-check.js";
import { unread } from "../../support/unread.js";

const SETTINGS = {
  keepAliveMs: 60_000,
  maxWaitingBytes: 1024 * 1024,
  stallMs: 30_000,
  retryMs: 1000,
  log: { maxLength: 100_000, maxEvents: 1000 },
  maxGetStreams: 8,
  lingerMs: 30_000,
  onOpen: () => {},
  onClose: () => {},
};

class FakeResponse extends PassThrough {
  constructor() {
    super({ highWaterMark: 1024 * 1024 });
  }
  writeHead(): this {
    return this;
  }
  flushHeaders(): void {}
}

/** A host that reads a given part of each connection and then loses it. */
class LossyHost {
  readonly got: string[] = [];
  lastEventId: string | undefined;
  #response = new FakeResponse();

  get response(): ServerResponse {
    return this.#response as unknown as ServerResponse;
  }

  /** Reads the first `count` events of the connection and loses the rest, with the connection. */
  lose(count: number): void {
    const events: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (event) => void events.push(event) });
    parser.feed(unread(this.#response));
    for (const event of events.slice(0, count)) {
      if (event.id !== undefined) this.lastEventId = event.id;
      if (event.data !== "") this.got.push(event.data);
    }
    this.#response.destroy();
    this.#response = new FakeResponse();
  }
}

type Step = { readonly say: number } | { readonly lose: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ say: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ lose: fc.nat(6) }),
);

const settled = () => new Promise(setImmediate);

test.each(["call", "general"] as const)("on the stream of a %s", async (kind) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), async (steps, noticed) => {
      const streams = new SessionStreams(SETTINGS, true);
      const host = new LossyHost();
      const stream = kind === "call" ? streams.openCallStream(host.response, [1]) : undefined;
      if (kind === "general") streams.openGetStream(host.response);
      const said: string[] = [];
      const say = () => {
        const text = JSON.stringify(said.length);
        said.push(text);
        if (stream === undefined) streams.send(text);
        else stream.send(text);
      };
      await settled();
      for (const next of steps) {
        if ("say" in next) for (let i = 0; i < next.say; i += 1) say();
        else {
          // The event without data is always read: it is what makes a stream resumable at all.
          host.lose(next.lose + (host.lastEventId === undefined ? 1 : 0));
          // Whether the server has noticed by then that the connection is gone makes no difference.
          if (noticed) await settled();
          if (noticed) say();
          expect(streams.resume(host.response, host.lastEventId ?? "")).toBe("resumed");
        }
        await settled();
      }
      stream?.finish();
      host.lose(1000);
      expect(host.got).toEqual(said);
      streams.close();
    }),
    { numRuns: 200 },
  );
});

test("a large response is sent and sent again as the bytes it is, also where these have line breaks", async () => {
  const streams = new SessionStreams(SETTINGS, true);
  const host = new LossyHost();
  const stream = streams.openCallStream(host.response, [1]);
  const text = "ü".repeat(300_000);
  stream.send(['{"id":1,"result":{', Buffer.from(`"text":\n"${text}"\r\n`), "}}"], 1);
  const sent = { id: 1, result: { text } };
  await settled();
  host.lose(2);
  expect(host.got.map((each) => JSON.parse(each))).toEqual([sent]);

  // The host has lost all of the stream but its first event.
  const first = (host.lastEventId ?? "").replace(/^(call-\d+-)\d+/, "$10");
  expect(streams.resume(host.response, first)).toBe("resumed");
  await settled();
  host.lose(1);
  expect(host.got.map((each) => JSON.parse(each))).toEqual([sent, sent]);
});
