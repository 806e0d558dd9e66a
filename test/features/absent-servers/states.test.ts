/** What is said of servers in each state: idle ones are available, and those that are not say who can fix it. */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { testOf } from "../../support/features.js";
import { guardedServer } from "../../support/guarded-server.js";
import { openLegacy, openModern, type RawHost } from "../../support/peers/raw.js";
import {
  awayServer,
  call,
  instructionsOf,
  opened,
  presentServer,
  type Row,
  rowsFor,
  SERVERS_URI,
  search,
} from "./support.js";

const ERAS = [
  ["legacy", openLegacy],
  ["modern", openModern],
] as const;

const hostAt = async (url: string, open = openModern): Promise<RawHost> => {
  const host = await open({ url });
  onTestFinished(() => host.close());
  return host;
};

const UNSET = { command: "never-started", env: { API_KEY: "${WEATHER_KEY}" } };
const SEARCH = { tools: { exposure: "search" } };

describe.each(ERAS)("a %s host", (_, open) => {
  test("reads that a misconfigured server needs the operator", async () => {
    const { url } = await opened({ weather: UNSET });
    const host = await hostAt(url, open);
    const row: Row = {
      server: "weather",
      state: "misconfigured",
      reason: expect.stringContaining("WEATHER_KEY"),
      action: expect.stringMatching(/^Trying again does not help: the operator/),
    };
    expect(await rowsFor(host)).toEqual([row]);
    expect(instructionsOf(host)).toMatch(/- weather: it is misconfigured: .*WEATHER_KEY/);
    expect((await call(host, "weather__now")).error).toMatchObject({
      message: expect.stringContaining("Trying again does not help"),
      data: { cardea: { code: "upstream_unavailable", server: "weather", retryable: false } },
    });
  });

  testOf("sign-in")("reads that a server wants a sign-in", async () => {
    const guarded = await guardedServer({ era: "modern" });
    const { url } = await opened({ notes: { type: "http", url: guarded.url } });
    const host = await hostAt(url, open);
    expect(await rowsFor(host)).toEqual([
      {
        server: "notes",
        state: "needs_sign_in",
        reason: "it needs a sign-in",
        action: expect.stringContaining("cardea login notes"),
      },
    ]);
    expect(instructionsOf(host)).toContain("- notes: it needs a sign-in");
    expect(await call(host, "notes__list")).toMatchObject({
      result: { isError: true, _meta: { "cardea/refusal": { code: "sign_in_required", server: "notes" } } },
    });
  });

  test("gets the same instructions as before while all is well", async () => {
    const { url } = await opened({ files: await presentServer("files", ["read_file"]) });
    const host = await hostAt(url, open);
    expect(host.introduction().instructions).toBeUndefined();
    expect(await rowsFor(host)).toEqual([{ server: "files", state: "ready" }]);
  });
});

testOf("kept-lists")("an idle server is available, before its first start too", async () => {
  const stateFolder = mkdtempSync(join(tmpdir(), "cardea-absent-"));
  onTestFinished(() => rm(stateFolder, { recursive: true, force: true }));
  const entry = { ...(await presentServer("files", ["read_file"])), start: "demand" };
  const first = await opened({ files: entry }, {}, stateFolder);
  await first.gateway.stop();
  const { url } = await opened({ files: entry }, {}, stateFolder);
  const host = await hostAt(url);
  expect(await rowsFor(host)).toEqual([{ server: "files", state: "idle" }]);
  expect(host.introduction().instructions).toBeUndefined();
});

const withSearch = testOf("tool-search");

withSearch("a search puts the absent server first whose words it has", async () => {
  const away = await Promise.all(["mail", "github", "calendar"].map((name) => awayServer(name, ["act"])));
  const [mail, github, calendar] = away.map(({ entry }) => entry);
  const files = await presentServer("files", ["create_folder"]);
  const { url } = await opened({ mail, github, calendar, files } as Record<string, object>, SEARCH);
  const host = await hostAt(url);
  const serversIn = ({ unavailable }: Awaited<ReturnType<typeof search>>) =>
    (unavailable as readonly Row[] | undefined)?.map(({ server }) => server);
  expect(serversIn(await search(host, "create a github issue"))).toEqual(["github", "mail", "calendar"]);
  expect(serversIn(await search(host, "what is in my calendars"))).toEqual(["calendar", "mail", "github"]);
  const found = await search(host, "create a folder");
  expect(found).toMatchObject({ tools: [{ name: "files__create_folder" }] });
  expect(await search(host, "anything", "github")).toMatchObject({
    ...{ tools: [], total: 0 },
    unavailable: [{ server: "github", state: "backoff" }],
  });
  expect(serversIn(await search(host, "anything", "files"))).toBeUndefined();
});

describe("a profile", () => {
  const PROFILES = {
    profiles: {
      few: { servers: ["files"] },
      filtered: { tools: { allow: ["files__*"] } },
      denied: { tools: { deny: ["github__*"] } },
    },
  };

  test.each(["few", "filtered", "denied"])(
    "%s keeps quiet about a server that it does not show",
    async (name) => {
      const github = await awayServer("github", ["create_issue"]);
      const files = await presentServer("files", ["read_file"]);
      const { url } = await opened({ github: github.entry, files }, PROFILES);
      const host = await hostAt(`${url}/${name}`);
      expect(JSON.stringify(host.introduction())).not.toContain("github");
      expect(await rowsFor(host)).toEqual([{ server: "files", state: "ready" }]);
      const { id: _, ...of } = await host.send("a", "tools/call", {
        name: "github__create_issue",
        arguments: {},
      });
      const { id: __, ...unknown } = await host.send("a", "tools/call", {
        name: "nothing__create_issue",
        arguments: {},
      });
      expect(JSON.stringify(of)).toBe(JSON.stringify(unknown).replaceAll("nothing__", "github__"));
    },
  );

  test("that has the server says what the gateway as a whole says", async () => {
    const github = await awayServer("github", ["create_issue"]);
    const { url } = await opened({ github: github.entry }, { profiles: { all: {} } });
    const host = await hostAt(`${url}/all`);
    expect(instructionsOf(host)).toContain("- github: it cannot be reached");
    expect(await rowsFor(host)).toMatchObject([{ server: "github", state: "backoff" }]);
  });
});

test("a name that the filters of an absent server deny is unknown", async () => {
  const github = await awayServer("github", []);
  const { url } = await opened({ github: { ...github.entry, tools: { deny: ["delete_*"] } } });
  const host = await hostAt(url);
  expect((await call(host, "github__delete_repo")).error).toMatchObject({ code: -32602 });
  expect((await call(host, "github__create_issue")).error).toMatchObject({ code: -31503 });
});

test("the URL of one server names it when it is away, and lists no resource of the gateway", async () => {
  const github = await awayServer("github", ["create_issue"]);
  const files = await presentServer("files", ["read_file"]);
  const { url } = await opened({ github: github.entry, files });
  const host = await hostAt(`${url}/github`);
  expect(instructionsOf(host)).toContain("- github: it cannot be reached");
  expect(instructionsOf(host)).not.toContain(SERVERS_URI);
  const present = await hostAt(`${url}/files`);
  expect(await present.list("resources")).toEqual([]);
  expect((await present.request("resources/read", { uri: SERVERS_URI })).result).toEqual(
    expect.objectContaining({ contents: [] }),
  );
});
