/** Progress, log messages and cancellation reach exactly the peer they belong to, in every pair of eras. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Serving, serve } from "../support/cardea.js";
import { type Era, type Fixture, startFixture, type Transport } from "../support/fixture.js";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost, type RawOptions } from "../support/peers/raw.js";
import { until } from "../support/until.js";

const UPSTREAMS: readonly { readonly era: Era; readonly transport: Transport }[] = [
  { era: "legacy", transport: "http" },
  { era: "legacy", transport: "stdio" },
  { era: "modern", transport: "http" },
  { era: "modern", transport: "stdio" },
];

/** The gateway in front of one fixture, or the fixture itself: the peers are checked by the same tests. */
interface Stage {
  readonly url: string;
  readonly work: string;
  readonly fixture: Fixture;
  readonly end: () => Promise<void>;
}

async function gatewayBefore({ era, transport }: (typeof UPSTREAMS)[number]): Promise<Stage> {
  const fixture = await startFixture(era, transport);
  const gateway: Serving = await serve({ mcpServers: { worker: fixture.entry } });
  const end = async (): Promise<void> => {
    await gateway.stop();
    await fixture.stop();
  };
  return { url: gateway.url, work: "worker__work", fixture, end };
}

async function nothingBefore(era: Era): Promise<Stage> {
  const fixture = await startFixture(era, "http");
  return { url: String(fixture.entry.url), work: "work", fixture, end: () => fixture.stop() };
}

describe.each(UPSTREAMS)("through the gateway, with a $era server over $transport", (upstream) => {
  peersOf(() => gatewayBefore(upstream), {
    eras: ["legacy", "modern"],
    // On a pipe a log message cannot be attributed to one of two calls, so it is dropped.
    logsFindTheirWay: upstream.transport === "http",
  });
});
describe.each(["legacy", "modern"] as const)("a %s stdio server with a lease per host", (upstream) => {
  test.each(["legacy", "modern"] as const)("sends a %s host the log messages of its calls", async (era) => {
    const stage = await gatewayBefore({ era: upstream, transport: "stdio" });
    const host = await (era === "legacy" ? openLegacy : openModern)({ url: stage.url }, { logLevel: "info" });
    if (era === "legacy") await host.request("logging/setLevel", { level: "info" });
    try {
      const messages: Json[] = [];
      const params = { name: stage.work, arguments: { label: "alone", steps: 2, stepMs: 20 } };
      await host.send(1, "tools/call", params, { onMessage: (message) => messages.push(message) });
      const logs = paramsOf(messages, "notifications/message").map(({ data }) => data);
      expect(logs).toEqual(["alone 1", "alone 2"]);
    } finally {
      await host.close();
      await stage.end();
    }
  });
});
describe.each(["legacy", "modern"] as const)("without a gateway, with a %s server", (era) => {
  peersOf(() => nothingBefore(era), { eras: [era], logsFindTheirWay: true });
});

interface Expectations {
  readonly eras: readonly Era[];
  readonly logsFindTheirWay: boolean;
}

function peersOf(setUp: () => Promise<Stage>, { eras, logsFindTheirWay }: Expectations): void {
  let stage: Stage;
  const hosts: RawHost[] = [];
  beforeAll(async () => {
    stage = await setUp();
  });
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    await stage.end();
  });
  const open = async (era: Era, options: RawOptions = {}): Promise<RawHost> => {
    const place = { url: stage.url };
    const host = era === "legacy" ? await openLegacy(place, options) : await openModern(place, options);
    if (era === "legacy" && options.logLevel !== undefined) {
      await host.request("logging/setLevel", { level: options.logLevel });
    }
    hosts.push(host);
    return host;
  };
  const work = (label: string, steps: number, token?: string): Json => ({
    name: stage.work,
    arguments: { label, steps, stepMs: 20 },
    ...(token !== undefined && { _meta: { progressToken: token } }),
  });
  const isNoted = (event: string, label: string): boolean =>
    stage.fixture.ledger().some((entry) => entry.event === event && entry.label === label);

  describe.each(eras)("%s hosts", (era) => {
    test("with equal request ids and progress tokens each get their own progress, complete and in order", async () => {
      const both = await Promise.all([open(era), open(era)]);
      const heard = await Promise.all(
        both.map(async (host, index) => {
          const label = `${era} progress ${index}`;
          const messages: Json[] = [];
          const answer = await host.send(7, "tools/call", work(label, 5, "token"), {
            onMessage: (message) => messages.push(message),
          });
          expect(answer).toMatchObject({ id: 7, result: { content: [{ text: `${label} took 5 steps` }] } });
          return { label, progress: paramsOf(messages, "notifications/progress") };
        }),
      );
      for (const { label, progress } of heard) {
        const steps = [1, 2, 3, 4, 5];
        expect(progress).toEqual(
          steps.map((step) => ({
            progressToken: "token",
            progress: step,
            total: 5,
            message: `${label} ${step}`,
          })),
        );
      }
    });

    test("get a numeric progress token back as a number", async () => {
      const host = await open(era);
      const messages: Json[] = [];
      const params = { ...work(`${era} number`, 1), _meta: { progressToken: 7 } };
      await host.send(1, "tools/call", params, {
        onMessage: (message) => messages.push(message),
      });
      const tokens = paramsOf(messages, "notifications/progress").map(({ progressToken }) => progressToken);
      expect(tokens).toEqual([7]);
    });

    test("get the log messages of their own calls only", async () => {
      const both = await Promise.all([open(era, { logLevel: "info" }), open(era, { logLevel: "info" })]);
      const heard = await Promise.all(
        both.map(async (host, index) => {
          const label = `${era} logging ${index}`;
          const messages: Json[] = [];
          await host.send(3, "tools/call", work(label, 4), {
            onMessage: (message) => messages.push(message),
          });
          return { label, logs: paramsOf(messages, "notifications/message").map(({ data }) => data) };
        }),
      );
      for (const { label, logs } of heard) {
        const own = [1, 2, 3, 4].map((step) => `${label} ${step}`);
        if (logsFindTheirWay) expect(logs).toEqual(own);
        else expect(own).toEqual(expect.arrayContaining(logs));
      }
    });

    test("without a progress token or log level get no notifications", async () => {
      const host = await open(era, era === "legacy" ? { logLevel: "error" } : {});
      const messages: Json[] = [];
      await host.send(1, "tools/call", work(`${era} quiet`, 2), {
        onMessage: (message) => messages.push(message),
      });
      expect(messages).toEqual([]);
    });

    test("cancel their own call; a call of another host with the same request id keeps running", async () => {
      const [canceller, other] = await Promise.all([open(era), open(era)]);
      const [doomed, spared] = [`${era} doomed`, `${era} spared`];
      const rest = other.send(9, "tools/call", work(spared, 30, "token"));
      const letGo = new AbortController();
      const begun = new Promise<void>((resolve) => {
        // Cancelled by the host: whether a response still comes is up to the server.
        canceller
          .send(9, "tools/call", work(doomed, 500, "token"), {
            onMessage: () => resolve(),
            signal: letGo.signal,
          })
          .catch(() => {});
      });
      await begun;
      await canceller.cancel(9, letGo);
      await until(`the end of "${doomed}"`, () => isNoted("cancelled", doomed));
      letGo.abort();
      expect(await rest).toMatchObject({ id: 9, result: { content: [{ text: `${spared} took 30 steps` }] } });
      expect(isNoted("cancelled", spared)).toBe(false);
    });
  });

  test.runIf(eras.includes("legacy"))(
    "a dropped connection of a legacy host does not cancel its call",
    async () => {
      const host = await open("legacy");
      const label = "dropped connection";
      const letGo = new AbortController();
      await new Promise<void>((resolve) => {
        host
          .send(5, "tools/call", work(label, 15, "token"), {
            onMessage: () => resolve(),
            signal: letGo.signal,
          })
          .catch(() => {});
      });
      letGo.abort();
      await until(`the end of "${label}"`, () => isNoted("done", label));
      expect(isNoted("cancelled", label)).toBe(false);
    },
  );
}

const paramsOf = (messages: readonly Json[], method: string): readonly Json[] =>
  messages.filter((message) => message.method === method).map((message) => message.params as Json);
