/** Progress, log messages and cancellation reach exactly the peer they belong to, in every pair of eras. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Era, type Fixture, startFixture, type Transport } from "../support/fixture.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost, type RawOptions } from "../support/peers/raw.js";
import { eachValue, sample } from "../support/sample.js";
import { until } from "../support/until.js";

/** Files that let a call end. */
const folder = mkdtempSync(join(tmpdir(), "cardea-attribution-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  const gateway: MetGateway = await metGateway({ mcpServers: { worker: fixture.entry } });
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

/** Each is drawn with both eras of hosts, with some of the stages. */
const SITUATIONS = ["progress", "tokens", "logs", "silence", "cancel"] as const;
type Situation = (typeof SITUATIONS)[number];
const casesOf = (stage: string, eras: readonly Era[]) =>
  eras.flatMap((era) => SITUATIONS.map((situation) => ({ stage, era, situation })));
const CASES = eachValue(
  "attribution",
  [
    ...UPSTREAMS.flatMap(({ era, transport }) => casesOf(`${era} ${transport}`, ["legacy", "modern"])),
    ...casesOf("legacy alone", ["legacy"]),
    ...casesOf("modern alone", ["modern"]),
  ],
  ({ stage, era, situation }) => [`${stage} ${era}`, `${era} ${situation}`],
);

describe.each(UPSTREAMS)("through the gateway, with a $era server over $transport", (upstream) => {
  peersOf(() => gatewayBefore(upstream), {
    stageName: `${upstream.era} ${upstream.transport}`,
    eras: ["legacy", "modern"],
    // On a pipe a log message cannot be attributed to one of two calls, so it is dropped.
    logsFindTheirWay: upstream.transport === "http",
  });
});
describe.each(["legacy", "modern"] as const)("a %s stdio server with a lease per host", (upstream) => {
  const eras = sample(`the log of a ${upstream} server`, ["legacy", "modern"] as const, 1);
  test.each(eras)("sends a %s host the log messages of its calls", async (era) => {
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
  peersOf(() => nothingBefore(era), { stageName: `${era} alone`, eras: [era], logsFindTheirWay: true });
});

interface Expectations {
  readonly stageName: string;
  readonly eras: readonly Era[];
  readonly logsFindTheirWay: boolean;
}

function peersOf(setUp: () => Promise<Stage>, { stageName, eras, logsFindTheirWay }: Expectations): void {
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
  const work = (label: string, steps: number, token?: string, until?: string): Json => ({
    name: stage.work,
    arguments: { label, steps, stepMs: 20, ...(until !== undefined && { until }) },
    ...(token !== undefined && { _meta: { progressToken: token } }),
  });
  const isNoted = (event: string, label: string): boolean =>
    stage.fixture.ledger().some((entry) => entry.event === event && entry.label === label);

  describe.each(eras)("%s hosts", (era) => {
    const drawn = (situation: Situation, title: string, run: () => Promise<void>): void => {
      const isDrawn = CASES.some(
        (one) => one.stage === stageName && one.era === era && one.situation === situation,
      );
      if (isDrawn) test(title, run);
    };

    drawn(
      "progress",
      "with equal request ids and progress tokens each get their own progress, complete and in order",
      async () => {
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
      },
    );

    drawn("tokens", "get a numeric progress token back as a number", async () => {
      const host = await open(era);
      const messages: Json[] = [];
      const params = { ...work(`${era} number`, 1), _meta: { progressToken: 7 } };
      await host.send(1, "tools/call", params, {
        onMessage: (message) => messages.push(message),
      });
      const tokens = paramsOf(messages, "notifications/progress").map(({ progressToken }) => progressToken);
      expect(tokens).toEqual([7]);
    });

    drawn("logs", "get the log messages of their own calls only", async () => {
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

    drawn("silence", "without a progress token or log level get no notifications", async () => {
      const host = await open(era, era === "legacy" ? { logLevel: "error" } : {});
      const messages: Json[] = [];
      await host.send(1, "tools/call", work(`${era} quiet`, 2), {
        onMessage: (message) => messages.push(message),
      });
      expect(messages).toEqual([]);
    });

    drawn(
      "cancel",
      "cancel their own call; a call of another host with the same request id keeps running",
      async () => {
        const [canceller, other] = await Promise.all([open(era), open(era)]);
        const [doomed, spared] = [`${era} doomed`, `${era} spared`];
        const free = join(folder, `${stageName} ${era}`);
        const rest = other.send(9, "tools/call", work(spared, 100_000, "token", free));
        const letGo = new AbortController();
        const begun = new Promise<void>((resolve) => {
          // Cancelled by the host: whether a response still comes is up to the server.
          canceller
            .send(9, "tools/call", work(doomed, 100_000, "token"), {
              onMessage: () => resolve(),
              signal: letGo.signal,
            })
            .catch(() => {});
        });
        await begun;
        await canceller.cancel(9, letGo);
        await until(`the end of "${doomed}"`, () => isNoted("cancelled", doomed));
        letGo.abort();
        writeFileSync(free, "");
        expect(await rest).toMatchObject({ id: 9, result: { content: [{ text: `${spared} was let go` }] } });
        expect(isNoted("cancelled", spared)).toBe(false);
      },
    );
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
