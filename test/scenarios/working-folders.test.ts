/** `cwd: "roots"`: a stdio server works in the first root of the host that calls, each root in a process of its own. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import type { Json } from "../support/peers/host.js";
import { eachValue } from "../support/sample.js";
import { until } from "../support/until.js";
import { type Answer, HOSTS, type HostKind, openHost, type Question, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const ERAS = ["legacy", "modern"] as const;
type Era = (typeof ERAS)[number];

const open: { stop(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

function newFolder(...projects: readonly string[]): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "working-")));
  open.push({ stop: () => rmSync(folder, { recursive: true, force: true }) });
  for (const project of projects) mkdirSync(join(folder, project));
  return folder;
}

const SERVER = inRepository("test/support/scripted/stdio.mjs");
const NO_LEDGER = "/dev/null";

/** A gateway in front of the server `it`, which works in roots. */
const openIn = (era: Era, entry: object = {}, more: object = { auth: undefined }): Promise<Stage> => {
  const command = { command: process.execPath, args: [SERVER, era, NO_LEDGER] };
  return openStage([], { config: { mcpServers: { it: { ...command, cwd: "roots", ...entry } }, ...more } });
};

/** The same, until the end of the test. */
async function stageOf(...settings: Parameters<typeof openIn>): Promise<Stage> {
  const stage = await openIn(...settings);
  open.push({ stop: () => stage.close() });
  return stage;
}

const rootsAt =
  (...places: readonly string[]): Answer =>
  ({ method }: Question) => {
    if (method === "roots/list")
      return { roots: places.map((at) => ({ uri: at.includes(":") ? at : pathToFileURL(at).href })) };
    return { action: "accept", content: {} };
  };

const textIn = (response: Json): string => {
  const { content = [] } = (response.result ?? {}) as { content?: readonly { text: string }[] };
  return content[0]?.text ?? JSON.stringify(response.error);
};

/** The process that serves the call, and its working directory. */
async function placeOf(host: ScenarioHost, answer: Answer): Promise<{ pid: number; folder: string }> {
  const response = await host.call("it__process_id", {}, answer).outcome;
  const pid = Number(textIn(response));
  if (!(pid > 0)) throw new Error(JSON.stringify(response));
  return { pid, folder: readlinkSync(`/proc/${pid}/cwd`) };
}

const refusal = async (host: ScenarioHost, answer: Answer): Promise<string> =>
  JSON.stringify(await host.call("it__process_id", {}, answer).outcome);

const KINDS: readonly HostKind[] = eachValue(
  "hosts with folders",
  [HOSTS.legacyHttp, HOSTS.legacyStdio, HOSTS.modernHttp, HOSTS.modernStdio],
  ({ era, door }) => [era, door],
);

describe.runIf(existsSync("/proc/self/cwd")).each(ERAS)("a %s server with cwd: roots", (era) => {
  /** For tests whose folders are their own, so that no process is that of another test. */
  let shared: Stage;
  beforeAll(async () => {
    shared = await openIn(era);
  });
  afterAll(() => shared.close());

  test.each(KINDS)(
    "works for $name in its first root, and for another root in another process",
    async (kind) => {
      const folder = newFolder("one", "two");
      const [one, two] = [join(folder, "one"), join(folder, "two")];
      const [first, second] = [await openHost(shared, kind), await openHost(shared, kind)];
      const at = await placeOf(first, rootsAt(one, two));
      const other = await placeOf(second, rootsAt(two));
      expect([at.folder, other.folder]).toEqual([one, two]);
      expect(other.pid).not.toBe(at.pid);
      expect(await placeOf(first, rootsAt(one))).toEqual(at);
    },
  );

  test("is asked a question in its call, and the next round goes to the same process", async () => {
    const folder = newFolder("one");
    for (const kind of KINDS) {
      const host = await openHost(shared, kind);
      const call = host.call("it__form", {}, rootsAt(join(folder, "one")));
      expect([kind.key, textIn(await call.outcome)]).toEqual([kind.key, expect.stringContaining("accept")]);
    }
  });

  test("serves hosts of one principal with lease: shared in one process for each root", async () => {
    const folder = newFolder("one", "two");
    const stage = await stageOf(era, { lease: "shared" });
    const hosts = [];
    for (const kind of KINDS) hosts.push(await openHost(stage, kind));
    const pids = new Set<number>();
    for (const host of hosts) pids.add((await placeOf(host, rootsAt(join(folder, "one")))).pid);
    for (const host of hosts) pids.add((await placeOf(host, rootsAt(join(folder, "two")))).pid);
    expect(pids.size).toBe(2);
  });

  test("is refused to a host that names no folder, with what to do, and works in the folder of the config where it names one", async () => {
    const folder = newFolder("mine");
    for (const kind of KINDS) {
      const none = await openHost(shared, kind, { capabilities: {} });
      const empty = await openHost(shared, kind);
      for (const [host, answer] of [
        [none, rootsAt()],
        [empty, rootsAt()],
      ] as const)
        expect(await refusal(host, answer)).toMatch(
          /this host names none: open a folder in the host, or set mcpServers\.it\.roots/,
        );
    }
    const configured = await stageOf(era, { roots: [join(folder, "mine")] });
    const host = await openHost(configured, HOSTS.modernHttp, { capabilities: {} });
    expect((await placeOf(host, rootsAt())).folder).toBe(join(folder, "mine"));
  });

  test.each([
    ["another scheme", "vscode-remote://ssh/home/ann/project"],
    ["another machine", "file://server/share"],
    ["a folder that is not there", "file:///not/there"],
    ["a file", pathToFileURL(process.execPath).href],
    ["no path", "file:///%00"],
  ])("does not start for a root that is %s", async (_what, uri) => {
    const host = await openHost(shared, HOSTS.modernHttp);
    expect(await refusal(host, rootsAt(uri))).toContain("is not the file: URI of a folder of this machine");
    const legacy = await openHost(shared, HOSTS.legacyHttp);
    expect(await refusal(legacy, rootsAt(uri))).toContain("is not the file: URI of a folder of this machine");
  });

  test("lists before any host has named a root, and shows the same tools to each", async () => {
    const stage = await stageOf(era);
    const host = await openHost(stage, HOSTS.legacyHttp, { capabilities: {} });
    expect((await host.raw.list("tools")).map(({ name }) => name)).toContain("it__process_id");
  });
});

describe.runIf(existsSync("/proc/self/cwd"))("the folder of a host", () => {
  test("is asked for again when a session says that its roots have changed", async () => {
    const folder = newFolder("one", "two");
    const stage = await stageOf("legacy");
    const host = await openHost(stage, HOSTS.legacyHttp);
    const call = host.call("it__process_id", {}, rootsAt(join(folder, "one")));
    await call.outcome;
    expect(call.asked.map(({ method }) => method)).toContain("roots/list");
    expect((await placeOf(host, rootsAt(join(folder, "two")))).folder).toBe(join(folder, "one"));
    await host.raw.notify("notifications/roots/list_changed", {});
    await until(
      "the other root",
      async () => (await placeOf(host, rootsAt(join(folder, "two")))).folder === join(folder, "two"),
    );
  });

  test("is refused to hosts that authenticate, unless it is in one that the config allows", async () => {
    const folder = newFolder("allowed", "allowed/project", "allowed-not", "secret");
    symlinkSync(join(folder, "secret"), join(folder, "allowed", "way-out"));
    const at = (name: string): string => join(folder, ...name.split("/"));
    const strict = await stageOf("legacy", {}, {});
    const stranger = await openHost(strict, HOSTS.modernHttp, { person: "ada" });
    expect(await refusal(stranger, rootsAt(at("allowed")))).toContain("mcpServers.it.rootsUnder");
    expect(await refusal(stranger, rootsAt(at("not-there")))).toContain("mcpServers.it.rootsUnder");
    const stage = await stageOf("legacy", { rootsUnder: [at("allowed")] }, {});
    for (const kind of [HOSTS.modernHttp, HOSTS.legacyHttp]) {
      const host = await openHost(stage, kind, { person: "ada" });
      for (const outside of ["secret", "allowed-not", "allowed/way-out", "allowed/../secret"]) {
        const answer = await refusal(await openHost(stage, kind, { person: "ada" }), rootsAt(at(outside)));
        expect([outside, answer]).toEqual([outside, expect.stringContaining("rootsUnder")]);
      }
      expect((await placeOf(host, rootsAt(at("allowed/project")))).folder).toBe(at("allowed/project"));
    }
  });

  test("holds for an unauthenticated host too where the config allows some", async () => {
    const folder = newFolder("allowed", "other");
    const stage = await stageOf("legacy", { rootsUnder: [join(folder, "allowed")] });
    const host = await openHost(stage, HOSTS.modernHttp);
    expect(await refusal(host, rootsAt(join(folder, "other")))).toContain("rootsUnder");
    expect((await placeOf(host, rootsAt(join(folder, "allowed")))).folder).toBe(join(folder, "allowed"));
  });

  test("beyond the 32nd replaces the one that was used least recently", async () => {
    const names = Array.from({ length: 33 }, (_, at) => `p${at}`);
    const folder = newFolder(...names);
    const stage = await stageOf("modern", { lease: "shared" });
    const host = await openHost(stage, HOSTS.modernHttp);
    const pids: number[] = [];
    for (const name of names) pids.push((await placeOf(host, rootsAt(join(folder, name)))).pid);
    const [oldest = 0, next = 0] = pids;
    await until("the oldest process to end", () => !existsSync(`/proc/${oldest}/cwd`) || isZombie(oldest));
    expect(existsSync(`/proc/${next}/cwd`)).toBe(true);
  });

  test("with a link or another spelling of it is one folder", async () => {
    const folder = newFolder("one");
    symlinkSync(join(folder, "one"), join(folder, "link"));
    writeFileSync(join(folder, "one", "file"), "");
    const stage = await stageOf("modern", { lease: "shared" });
    const host = await openHost(stage, HOSTS.modernHttp);
    const pids = [];
    for (const place of ["one", "link", "one/"])
      pids.push((await placeOf(host, rootsAt(join(folder, place)))).pid);
    expect(new Set(pids).size).toBe(1);
  });
});

const isZombie = (pid: number): boolean => {
  try {
    readlinkSync(`/proc/${pid}/cwd`);
    return false;
  } catch {
    return true;
  }
};
