/** The processes of `cardea serve --workers 2` from their start to their end: crashes, signals, starts that fail. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fixture, fixtureCommand, startFixture } from "../../support/fixture.js";
import { type Exit, isAlive, type Started } from "../../support/processes.js";
import { until } from "../../support/until.js";
import {
  accepted,
  callModern,
  codeIn,
  legacyHost,
  roundIn,
  type Served,
  series,
  serveByTwo,
  startTwo,
  textIn,
  times,
  workersOf,
} from "./two-workers.js";

const endings: (() => Promise<unknown>)[] = [];
const ends = (end: () => Promise<unknown>): void => void endings.push(end);
afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

interface Ended extends Exit {
  readonly words: string;
}
const endOf = async (started: Started): Promise<Ended> => ({
  ...(await started.exited),
  words: started.stderr(),
});

/** Its server exits at once, and is waited for for seconds. */
const MISSING = {
  command: process.execPath,
  args: ["-e", "process.exit(3)"],
  required: true,
  connectTimeout: "1s",
};

let old: Fixture;
/** One for tests that leave it with two workers, one for the test that ends it. */
let served: Served;
let ending: Served;
let losing: Promise<Ended>;
beforeAll(async () => {
  losing = endOf(startTwo(ends, { mcpServers: { one: MISSING } }));
  const one = await startFixture("modern", "http");
  old = await startFixture("legacy", "http");
  ends(() => one.stop());
  ends(() => old.stop());
  const config = { mcpServers: { one: one.entry, old: old.entry } };
  [served, ending] = await Promise.all([serveByTwo(ends, config), serveByTwo(ends, config)]);
});

// A drain lingers for seconds: the tests of one gateway run one after the other, and beside those of the others.
describe.concurrent("a worker that dies", () => {
  test.sequential("is restarted with its sessions, while the others keep running", async () => {
    const hosts = await times(8, () => legacyHost(served.url));
    const [first] = await workersOf(served);
    process.kill(first!.pid, "SIGKILL");
    await until("the new worker", async () => {
      const [again] = await workersOf(served);
      return again?.ready === true && again.restarts === first!.restarts + 1;
    });
    for (const host of hosts) {
      const { status } = await host.call("one__echo", { value: "still there?" });
      expect([host.session?.slice(0, 2), status]).toEqual([host.session?.slice(0, 2), 200]);
    }
    const said = await times(
      20,
      async () => (await (await legacyHost(served.url)).call("one__echo", { value: "new" })).status,
    );
    expect(new Set(said)).toEqual(new Set([200]));
    expect((await fetch(`${served.admin}/readyz`)).status).toBe(200);
  });

  test.sequential("leaves no connection without an end, however many come while it is killed", async () => {
    /** A new connection each; one that is reset has an end. */
    const connect = () =>
      new Promise<void>((resolve) => {
        const answered = (response: IncomingMessage) => void response.resume().once("close", resolve);
        get(new URL("/healthz", served.url), { agent: false }, answered).once("error", () => resolve());
      });
    let areEnough = false;
    const more = times(20, async () => {
      while (!areEnough) await connect();
    });
    try {
      const [first] = await workersOf(served);
      process.kill(first!.pid, "SIGKILL");
      await until("both workers", async () => {
        const [again, other] = await workersOf(served);
        return again?.ready === true && again.restarts > first!.restarts && other?.ready === true;
      });
    } finally {
      areEnough = true;
    }
    await more;
  });

  test.sequential("has retries of its parked calls answered with outcome_unknown by its replacement", async () => {
    const asked = () => old.ledger().filter(({ event }) => event === "asked").length;
    const before = asked();
    const call = { name: "old__test_elicitation", arguments: { message: "sure?" } };
    const { inputRequests = {}, requestState = "" } = roundIn(await callModern(served.url, call));
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accepted]));
    const owner = (await workersOf(served)).find(({ worker }) => requestState.startsWith(`${worker}-`));
    process.kill(owner!.pid, "SIGKILL");
    const retry = () =>
      callModern(served.url, { ...call, inputResponses, requestState }).catch(() => undefined);
    // The next worker with this number reports that it does not know the call.
    await until("an answer of the next worker", async () => {
      const answer = await retry();
      return answer !== undefined && codeIn(answer) === "outcome_unknown";
    });
    await until("both workers", async () => (await workersOf(served)).every(({ ready }) => ready));
    expect(asked() - before).toBe(1);
  });

  test("exits with the first process", async () => {
    const workers = await workersOf(ending);
    await ending.process.stop("SIGKILL");
    // Without an init process that reaps orphans, an entry of each stays.
    await until("the end of the workers", () => workers.every(({ pid }) => !isAlive(pid)));
  });
});

describe.concurrent("starting and stopping", () => {
  test("a signal to all processes causes one drain: calls finish, and no process remains", async () => {
    const gateway = await serveByTwo(ends, { mcpServers: { one: fixtureCommand("modern") } });
    const workers = await workersOf(gateway);
    const folder = mkdtempSync(join(tmpdir(), "cardea-work-"));
    ends(() => rm(folder, { recursive: true, force: true }));
    const letGo = join(folder, "let-go");
    const call = { label: "slow", steps: 10_000, stepMs: 20, until: letGo };
    let begun = 0;
    const calls = times(6, async () => {
      const host = await legacyHost(gateway.url);
      begun += 1;
      return host.call("one__work", call);
    });
    await until(
      "six calls",
      async () => begun === 6 && series(await gateway.metrics(), "cardea_inflight_requests") === 6,
    );
    // As a terminal sends it.
    for (const { pid } of workers) process.kill(pid, "SIGINT");
    const stopped: Promise<Exit> = gateway.process.stop("SIGINT");
    await gateway.process.says(/no new calls/);
    writeFileSync(letGo, "");
    expect((await calls).map(textIn)).toEqual(Array.from({ length: 6 }, () => "slow was let go"));
    expect(await stopped).toEqual({ code: 0, signal: null });
    for (const { pid } of workers) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("a port in use, and a missing required server, exit with their codes", async () => {
    const taken = await endOf(startTwo(ends, { mcpServers: {} }, new URL(served.url).port));
    expect(taken).toMatchObject({ code: 1, words: expect.stringContaining("EADDRINUSE") as string });
    const lost = await losing;
    expect(lost).toMatchObject({ code: 69, words: expect.stringContaining("required server one") as string });
  });
});
