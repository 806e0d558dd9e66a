/** What a run of the program has learned of its servers the next run begins with, however it ended. */
import "../admin/needed.js";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { allMet, MAIN, type Serving, startServing, writeConfig } from "../../support/cardea.js";
import { hasFeature } from "../../support/features.js";
import { type Fixture, fixtureCommand, startFixture } from "../../support/fixture.js";
import { gatedServer } from "../../support/gated-server.js";
import { openLegacy, openModern } from "../../support/peers/raw.js";
import { start } from "../../support/processes.js";
import { sample } from "../../support/sample.js";
import { until } from "../../support/until.js";

let home: string;
let state: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "cardea-kept-"));
  state = join(home, "state");
});
afterEach(() => rmSync(home, { recursive: true }));

const lists = (): string => join(state, "lists");
const files = (): readonly string[] =>
  existsSync(lists()) ? readdirSync(lists()).filter((name) => name.endsWith(".lists")) : [];

/** `cardea serve` with this state folder, and servers that a list would wait for. */
async function serve(mcpServers: object, ...flags: readonly string[]): Promise<Serving> {
  const { file, remove } = writeConfig({ startupWait: "10m", mcpServers });
  const ports = ["--port", "0", "--admin-port", "0"];
  return startServing(["serve", "--config", file, ...ports, "--state-dir", state, ...flags], remove);
}

const HOSTS = [
  ["legacy", openLegacy],
  ["modern", openModern],
] as const;

/** The tools that a new host lists. */
async function toolsOf(
  open: (typeof HOSTS)[number][1],
  at: Parameters<typeof openLegacy>[0],
): Promise<string[]> {
  const host = await open(at);
  const names = (await host.list("tools")).map(({ name }) => String(name));
  await host.close();
  return names;
}

const bothListed = (names: readonly string[]): boolean =>
  ["good__echo", "late__echo"].every((name) => names.includes(name));

let good: Fixture;
beforeAll(async () => {
  good = await startFixture("legacy", "http");
});
afterAll(() => good.stop());

/** A server that starts once, while `learn` runs, and then no more. */
async function learnedOnce(
  learn: (servers: object) => Promise<void>,
): Promise<{ servers: object; close(): void }> {
  const late = await gatedServer();
  // The folder is that of the config otherwise, and each run has another one. On demand they would not run at the same time.
  const servers = {
    good: { ...good.entry, start: "eager" },
    late: { ...late.entry, cwd: home, start: "eager" },
  };
  await Promise.all([learn(servers), late.open()]);
  late.shut();
  return { servers, close: late.close };
}

/** Meets the servers, and ends as supervisors end a gateway. */
async function served(servers: object, ...flags: readonly string[]): Promise<void> {
  const gateway = await serve(servers, ...flags);
  await until("every server", () => allMet(gateway.admin));
  await gateway.stop();
}

type Case = readonly [title: string, run: () => Promise<void>];

const afterAnEarlierGateway = HOSTS.map(
  ([era, open]): Case => [
    `are in the first list of a ${era} host, where an earlier gateway knew them`,
    async () => {
      const { servers, close } = await learnedOnce(served);
      const gateway = await serve(servers);
      try {
        expect(gateway.process.stderr()).not.toContain("still starting");
        expect(bothListed(await toolsOf(open, { url: gateway.url }))).toBe(true);
      } finally {
        await gateway.end();
        close();
      }
    },
  ],
);

const afterAnEarlierPipe = HOSTS.map(
  ([era, open]): Case => [
    `are in the first list of a ${era} host over a pipe, where an earlier pipe knew them`,
    async () => {
      const { file, remove } = writeConfig({});
      const at = { command: process.execPath, args: [MAIN, "stdio", "--config", file, "--state-dir", state] };
      const { servers, close } = await learnedOnce(async (mcpServers) => {
        writeFileSync(file, JSON.stringify({ startupWait: "10m", mcpServers }));
        expect(bothListed(await toolsOf(open, at))).toBe(true);
      });
      try {
        expect(Object.keys(servers)).toHaveLength(2);
        expect(bothListed(await toolsOf(open, at))).toBe(true);
      } finally {
        close();
        await remove();
      }
    },
  ],
);

const afterOtherEnds: readonly Case[] = [
  [
    "are there after `kill -9` of the gateway that knew them",
    async () => {
      const { servers, close } = await learnedOnce(async (all) => {
        const gateway = await serve(all);
        await until("every server", () => allMet(gateway.admin));
        await until("two files", () => files().length === 2);
        await gateway.process.stop("SIGKILL");
      });
      const gateway = await serve(servers);
      try {
        expect(bothListed(await toolsOf(openLegacy, { url: gateway.url }))).toBe(true);
      } finally {
        await gateway.end();
        close();
      }
    },
  ],
];

const withWorkers: readonly Case[] = [
  [
    "are there where `cardea list` knew them, and for several workers",
    async () => {
      const { servers, close } = await learnedOnce(async (mcpServers) => {
        const { file, remove } = writeConfig({ mcpServers });
        const list = start(process.execPath, [MAIN, "list", "--config", file, "--state-dir", state]);
        list.child.stdout.resume();
        expect(await list.exited).toEqual({ code: 0, signal: null });
        await remove();
      });
      const gateway = await serve(servers, "--workers", "2");
      try {
        for (const [, open] of HOSTS)
          expect(bothListed(await toolsOf(open, { url: gateway.url }))).toBe(true);
      } finally {
        await gateway.end();
        close();
      }
    },
  ],
  [
    "are kept by several workers, which leave whole files and no drafts",
    async () => {
      const { servers, close } = await learnedOnce((all) => served(all, "--workers", "3"));
      const gateway = await serve(servers);
      try {
        expect(bothListed(await toolsOf(openModern, { url: gateway.url }))).toBe(true);
        expect(gateway.process.stderr()).not.toContain('"warn"');
        expect(readdirSync(lists()).filter((name) => name.endsWith(".tmp"))).toEqual([]);
      } finally {
        await gateway.end();
        close();
      }
    },
  ],
];

/** Each starts the program twice or more. */
const CASES = sample(
  "kept lists",
  [
    ...[...afterAnEarlierGateway, ...afterAnEarlierPipe, ...afterOtherEnds],
    ...(hasFeature("workers") ? withWorkers : []),
  ],
  1,
);

describe("the tools of a server that is still starting", () => {
  test.each(CASES)("%s", (_title, run) => run());
});

test("without a usable state folder the gateway serves, and logs once that lists are not cached", async () => {
  writeFileSync(state, "a file");
  const gateway = await serve({ good: good.entry, more: fixtureCommand("modern") });
  try {
    expect(await toolsOf(openLegacy, { url: gateway.url })).toEqual(
      expect.arrayContaining(["good__echo", "more__echo"]),
    );
    expect(gateway.process.stderr().match(/lists cannot be kept in/g)).toHaveLength(1);
    expect(gateway.process.stderr()).toContain("ENOTDIR");
  } finally {
    await gateway.end();
  }
});
