/** Sessions of one machine that outlive their gateway: their records are in the state folder, and the next process adopts them. */

import "../../features/admin/needed.js";
import { hash } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { placeOfPids } from "../../../src/runtime/pid-namespace.js";
import type { ProcessToken } from "../../../src/state/sessions/process-folders.js";
import { SessionFiles, type SessionFilesOptions } from "../../../src/state/sessions/session-files.js";
import { openedFeatures } from "../../support/features.js";
import { type Fixture, fixtureCommand, startFixture } from "../../support/fixture.js";
import { configOf, listening } from "../../support/gateway.js";
import { type Host, type Json, openHost, textOf } from "../../support/host/host.mjs";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { roundRobin } from "../../support/round-robin.js";
import { sample } from "../../support/sample.js";
import { until } from "../../support/until.js";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture("legacy", "http");
});
afterAll(() => fixture.stop());

/** No process has this pid. */
const KILLED: ProcessToken = { pid: 4_194_305, began: "0", place: placeOfPids() };

interface StartOptions extends Partial<SessionFilesOptions> {
  readonly config?: object;
  /** Ends as a process that is killed: nothing is written from then on. */
  readonly isKilled?: boolean;
}

function newFolder(): string {
  const folder = join(mkdtempSync(join(tmpdir(), "sessions-")), "sessions");
  onTestFinished(() => rmSync(join(folder, ".."), { recursive: true, force: true }));
  return folder;
}

async function start(folder: string, { config = {}, isKilled = false, ...options }: StartOptions = {}) {
  const warnings: string[] = [];
  const log = { ...SILENT, warn: (_fields: object, sentence: string) => void warnings.push(sentence) };
  const self = isKilled ? { self: KILLED } : {};
  const files = new SessionFiles({ folder, scope: "cardea.json", log, ...self, ...options });
  if (isKilled) files.close = async () => {};
  const read = configOf({ mcpServers: { one: fixture.entry }, ...config });
  const gateway = createGateway(read, {
    features: await openedFeatures(read),
    ...{ logger: log, version: "0.0.0-test", sessionFiles: files },
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= gateway.stop({ immediate: true });
    return stopped;
  };
  onTestFinished(stop);
  const { url, adminUrl } = await listening(gateway);
  return { url, admin: adminUrl, stop, warnings };
}
type Running = Awaited<ReturnType<typeof start>>;

/** A host at an address that leads to one gateway after another. */
async function openBehind(first: Running, options: object = {}) {
  let current = first;
  const balancer = await roundRobin(() => [current.url]);
  onTestFinished(() => balancer.close());
  const host = await openHost(balancer.url, "legacy", { agent: false, ...options });
  const goTo = (next: Running): void => {
    current = next;
  };
  return { host, goTo };
}

const recordsIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".session"));
const untilKept = (folder: string, count = 1): Promise<unknown> =>
  until("the record of the session", () => recordsIn(folder).length === count);
const echo = async (host: Host, value: string): Promise<string | undefined> =>
  textOf((await host.call("one__echo", { value })).message);
const listTools = (url: string, id = "", headers: object = {}) =>
  send(url, {
    headers: { ...JSON_HEADERS, "mcp-session-id": id, ...headers },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });

const ENDS = [
  ["was stopped", false],
  ["was killed", true],
] as const;

describe.each(sample("ends of gateways with sessions", ENDS, 1))(
  "after a restart of a gateway that %s",
  (_how, isKilled) => {
    test("the host calls on in its session, and is notified that lists may have changed", async () => {
      const folder = newFolder();
      const first = await start(folder, { isKilled });
      const { host, goTo } = await openBehind(first);
      expect(await echo(host, "before")).toContain("before");
      await untilKept(folder);
      await first.stop();
      goTo(await start(folder));
      expect(await echo(host, "after")).toContain("after");
      const heard: unknown[] = [];
      const stream = await host.stream({ onMessage: ({ method }: Json) => heard.push(method) });
      await until("the news", () => heard.includes("notifications/tools/list_changed"));
      await stream.stop();
    });

    test("its revision, log level and followed resources are as before", async () => {
      const folder = newFolder();
      const first = await start(folder, { isKilled });
      const { host, goTo } = await openBehind(first, {
        revision: "2025-06-18",
        info: { name: "a host", version: "7" },
      });
      await host.request("logging/setLevel", { level: "error" });
      const [resource] = (await host.list("resources")) as readonly { uri: string }[];
      const uri = resource?.uri;
      await untilKept(folder);
      const size = (): number => statSync(join(folder, recordsIn(folder)[0] ?? "")).size;
      const before = size();
      expect((await host.request("resources/subscribe", { uri })).error).toBeUndefined();
      // The host has its answer first; a kill in between loses the subscription.
      await until("the record with the resource", () => size() >= before + String(uri).length);
      await first.stop();
      const next = await start(folder);
      goTo(next);
      expect((await host.request("ping", {})).error).toBeUndefined();
      const heard: Json[] = [];
      const stream = await host.stream({ onMessage: (message: Json) => heard.push(message) });
      await until("an update of the resource", async () => {
        await host.call("one__test_trigger_resource_update", { uri: uri?.replace("one+", "") });
        return JSON.stringify(heard).includes("notifications/resources/updated");
      });
      await stream.stop();
      const sessions = JSON.stringify(await (await fetch(`${next.admin}/api/v1/sessions`)).json());
      expect(sessions).toContain('"revision":"2025-06-18"');
      expect(sessions).toContain('"a host"');
    });

    test("a session that its host has ended is over, and so is one of another gateway's config or another path", async () => {
      const folder = newFolder();
      const first = await start(folder, { isKilled });
      const ended = await openHost(first.url, "legacy", { agent: false });
      const kept = await openHost(first.url, "legacy", { agent: false });
      await untilKept(folder, 2);
      const end = { method: "DELETE", headers: { "mcp-session-id": ended.session ?? "" } };
      expect((await send(first.url, end)).status).toBe(204);
      await untilKept(folder, 1);
      await first.stop();
      const other = await start(folder, { scope: "other.json" });
      expect((await listTools(other.url, kept.session)).status).toBe(404);
      const next = await start(folder);
      expect((await listTools(next.url, ended.session)).status).toBe(404);
      expect((await listTools(`${next.url}/one`, kept.session)).status).toBe(404);
      expect((await listTools(next.url, kept.session)).status).toBe(200);
      expect(
        (await send(next.url, { ...end, headers: { "mcp-session-id": kept.session ?? "" } })).status,
      ).toBe(204);
      await untilKept(folder, 0);
    });

    test("a session outlives a second restart, and a third", async () => {
      const folder = newFolder();
      const first = await start(folder, { isKilled });
      const { host, goTo } = await openBehind(first);
      await untilKept(folder);
      let before = first;
      for (const value of ["one", "two", "three"]) {
        await before.stop();
        const next = await start(folder);
        goTo(next);
        expect(await echo(host, value)).toContain(value);
        before = next;
      }
      expect(recordsIn(folder)).toHaveLength(1);
    });
  },
);

const KEYS = (ids: readonly string[]): object => ({
  auth: { keys: ids.map((id) => ({ id, hash: `sha256:${hash("sha256", `key-of-${id}`)}` })) },
});
const bearer = (id: string) => ({ authorization: `Bearer key-of-${id}` });

describe("the principal of a session", () => {
  test("gets it back, another one does not, and a key that is gone opens nothing", async () => {
    const folder = newFolder();
    const first = await start(folder, { config: KEYS(["ann", "bob"]) });
    const host = await openHost(first.url, "legacy", { agent: false, headers: bearer("ann") });
    await untilKept(folder);
    await first.stop();
    const withoutAnn = await start(folder, { config: KEYS(["bob"]) });
    expect((await listTools(withoutAnn.url, host.session, bearer("ann"))).status).toBe(401);
    expect((await listTools(withoutAnn.url, host.session, bearer("bob"))).status).toBe(404);
    await withoutAnn.stop();
    const open = await start(folder);
    expect((await listTools(open.url, host.session)).status).toBe(404);
    await open.stop();
    const again = await start(folder, { config: KEYS(["ann"]) });
    expect((await listTools(again.url, host.session, bearer("ann"))).status).toBe(200);
  });
});

describe("two gateways with one state folder", () => {
  test("a session is served by the one that runs: the other says 503, until the first has stopped", async () => {
    const folder = newFolder();
    const first = await start(folder);
    const second = await start(folder);
    const host = await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    const refused = await listTools(second.url, host.session);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
    await first.stop();
    await until(
      "the session to be adopted",
      async () => (await listTools(second.url, host.session)).status === 200,
    );
  });

  test("of several requests at both for a session that was left, one gateway serves all of its own", async () => {
    const folder = newFolder();
    const first = await start(folder, { isKilled: true });
    const host = await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    await first.stop();
    const next = await Promise.all([start(folder), start(folder)]);
    const asked = await Promise.all(
      next.map(({ url }) =>
        Promise.all([1, 2, 3].map(async () => (await listTools(url, host.session)).status)),
      ),
    );
    expect(asked.map((each) => new Set(each).size)).toEqual([1, 1]);
    expect(asked.flat().toSorted()).toEqual([200, 200, 200, 503, 503, 503]);
  });
});

describe("a record", () => {
  async function left(): Promise<{ folder: string; file: string; id: string }> {
    const folder = newFolder();
    const first = await start(folder);
    const host = await openHost(first.url, "legacy", {
      agent: false,
      info: { name: "secret host", version: "1" },
    });
    await untilKept(folder);
    await first.stop();
    const [name = ""] = recordsIn(folder);
    return { folder, file: join(folder, name), id: host.session ?? "" };
  }

  test("is of this user alone, and says neither the id nor what the host declared", async () => {
    const { file, id } = await left();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, "..")).mode & 0o777).toBe(0o700);
    expect(file).not.toContain(id.slice(0, 8));
    const bytes = readFileSync(file).toString("latin1");
    expect(bytes).not.toMatch(/secret host|anonymous|protocol/);
    expect(bytes).not.toContain(id.slice(0, 8));
  });

  test.each<readonly [string, (file: string) => void]>([
    ["was changed", (file) => writeFileSync(file, readFileSync(file).fill(0, 40, 44), { mode: 0o600 })],
    ["was cut", (file) => writeFileSync(file, readFileSync(file).subarray(0, 50), { mode: 0o600 })],
    ["is empty", (file) => writeFileSync(file, "")],
    ["may be read by others", (file) => chmodSync(file, 0o644)],
  ])("that %s is not used, and the log names the reason", async (_what, spoil) => {
    const { folder, file, id } = await left();
    spoil(file);
    const next = await start(folder);
    expect((await listTools(next.url, id)).status).toBe(404);
    expect(next.warnings).toEqual([expect.stringContaining("the record of a session is not used")]);
  });

  test("of another session under its name opens nothing", async () => {
    const folder = newFolder();
    const first = await start(folder);
    const hosts = await Promise.all([1, 2].map(() => openHost(first.url, "legacy", { agent: false })));
    await untilKept(folder, 2);
    await first.stop();
    const [one = "", other = ""] = recordsIn(folder).map((name) => join(folder, name));
    writeFileSync(one, readFileSync(other), { mode: 0o600 });
    const next = await start(folder);
    const statuses = await Promise.all(
      hosts.map(async ({ session }) => (await listTools(next.url, session)).status),
    );
    expect(statuses.toSorted()).toEqual([200, 404]);
  });

  test("opens only with the key of the config that sealed it, where there is one", async () => {
    const folder = newFolder();
    const first = await start(folder, { secret: "the first secret" });
    const host = await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    await first.stop();
    const other = await start(folder, { secret: "another secret" });
    expect((await listTools(other.url, host.session)).status).toBe(404);
    const next = await start(folder, { secret: "the first secret" });
    expect((await listTools(next.url, host.session)).status).toBe(200);
  });

  test("of a session that was idle for too long is not used, and removed", async () => {
    const { folder, id } = await left();
    const next = await start(folder, { idleMs: Number.NEGATIVE_INFINITY });
    expect((await listTools(next.url, id)).status).toBe(404);
    await until("the record to be removed", () => recordsIn(folder).length === 0);
  });

  test("that ended processes left is removed beyond the limit, the oldest first", async () => {
    const folder = newFolder();
    const ids: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      const each = await start(folder);
      ids.push((await openHost(each.url, "legacy", { agent: false })).session ?? "");
      await untilKept(folder, at + 1);
      await each.stop();
    }
    const next = await start(folder, { maxLeft: 2 });
    await openHost(next.url, "legacy", { agent: false });
    await until("the oldest to be removed", () => recordsIn(folder).length === 3);
    const statuses = ids.map(async (id) => (await listTools(next.url, id)).status);
    expect(await Promise.all(statuses)).toEqual([404, 200, 200]);
  });

  test("is not written by a call", async () => {
    const folder = newFolder();
    const first = await start(folder);
    const host = await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    const written = () => recordsIn(folder).map((name) => statSync(join(folder, name)).ino);
    const before = written();
    for (const value of ["1", "2", "3"]) expect(await echo(host, value)).toContain(value);
    expect(written()).toEqual(before);
  });
});

describe("a folder that cannot be used", () => {
  test("is named once, and sessions work as long as their gateway runs", async () => {
    const folder = newFolder();
    writeFileSync(folder, "a file");
    const first = await start(folder);
    const hosts = await Promise.all([1, 2].map(() => openHost(first.url, "legacy", { agent: false })));
    for (const host of hosts) expect(await echo(host, "x")).toContain("x");
    expect(first.warnings).toEqual([expect.stringContaining("sessions cannot be kept in")]);
  });

  test("that is deleted at runtime is made again by the next session", async () => {
    const folder = newFolder();
    const first = await start(folder);
    await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    rmSync(folder, { recursive: true });
    const host = await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    await first.stop();
    const next = await start(folder);
    expect((await listTools(next.url, host.session)).status).toBe(200);
  });
});

describe("a host that comes back", () => {
  test("with initialize and its old id gets a new session", async () => {
    const folder = newFolder();
    const first = await start(folder);
    const host = await openHost(first.url, "legacy", { agent: false });
    await untilKept(folder);
    await first.stop();
    const next = await start(folder);
    const answer = await send(next.url, {
      headers: { ...JSON_HEADERS, "mcp-session-id": host.session ?? "" },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "h", version: "1" } },
      }),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers["mcp-session-id"]).not.toBe(host.session);
  });

  test("to a stdio server learns once that its process is another one", async () => {
    const folder = newFolder();
    const config = { mcpServers: { one: fixtureCommand("legacy") } };
    const first = await start(folder, { config });
    const { host, goTo } = await openBehind(first);
    const meta = async () =>
      ((await host.call("one__echo", { value: "x" })).message as { result?: { _meta?: object } }).result
        ?._meta ?? {};
    expect(await meta()).not.toHaveProperty("cardea/adopted");
    await untilKept(folder);
    await first.stop();
    goTo(await start(folder, { config }));
    expect(await meta()).toHaveProperty("cardea/adopted", true);
    expect(await meta()).not.toHaveProperty("cardea/adopted");
  });
});
