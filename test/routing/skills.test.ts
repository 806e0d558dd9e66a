/** Skills of several servers (SEP-2640): one listing, and each skill where it is. */
import { describe, expect, test } from "vitest";
import type { Client } from "../../src/core/client.js";
import type { UpstreamState } from "../../src/core/upstream.js";
import type { JsonObject } from "../../src/wire/json.js";
import { server } from "../catalog/support.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import {
  type FakeUpstream,
  fakeCall,
  fakeClient,
  fakeUpstream,
  resultReply,
} from "../support/fake-upstream.js";
import { errorOf, type Front, frontOf, received, resultOf } from "./support.js";

fakeTime();

const FRESH = { ttlMs: 60_000, scope: "public" } as const;
const skill = (path: string, of = path): JsonObject => ({
  uri: `skill://${path}/SKILL.md`,
  frontmatter: { name: of.split("/").at(-1), description: "d", "x-more": { uri: "skill://not/a/uri" } },
  resources: [
    { uri: `skill://${path}/SKILL.md`, digest: "sha256:00", size: 1 },
    { uri: `skill://${path}/forms/a.md`, digest: "sha256:01", size: 2 },
  ],
});

/** A server of skills by their paths, one on each page. */
function serving(
  name: string,
  paths: readonly string[],
  settings: JsonObject = {},
  state: UpstreamState = "ready",
): FakeUpstream {
  const capabilities = { resources: {}, extensions: { "io.modelcontextprotocol/skills": settings } };
  return fakeUpstream(name, { capabilities, state }).answers(({ method, params }) => {
    if (method !== "skills/list") return resultReply({ method, params });
    const at = Number(params.cursor ?? 0);
    const next = at + 1 < paths.length ? { nextCursor: String(at + 1) } : {};
    const reply = resultReply({
      skills: paths.slice(at, at + 1).map((path) => skill(path)),
      "x-kept": true,
      ...next,
    });
    return { ...reply, freshness: FRESH };
  });
}
const list = async ({ handle }: Front, params: JsonObject = {}, client: Client = fakeClient()) =>
  handle(fakeCall("skills/list", params, { client }));

describe("skills/list", () => {
  test("lists those of every server that has skills, all pages, under URIs that lead back", async () => {
    const [one, two] = [serving("one", ["pdf", "acme/refunds"]), serving("two", ["pdf"])];
    const front = frontOf([one, fakeUpstream("plain"), two]);
    await settle();
    const reply = await list(front);
    expect(resultOf(reply)).toEqual({
      skills: [skill("one/pdf", "pdf"), skill("one/acme/refunds"), skill("two/pdf", "pdf")],
    });
    // What several servers say together is for this client alone.
    expect(reply).toMatchObject({ freshness: { ttlMs: 60_000, scope: "private" } });
    await front.handle(fakeCall("resources/read", { uri: "skill://two/pdf/forms/a.md" }));
    expect(received(two)?.params).toEqual({ uri: "skill://pdf/forms/a.md" });
  });

  test("of a single server is that of the server, except cursors", async () => {
    const front = frontOf([serving("one", ["pdf"]), fakeUpstream("plain")]);
    await settle();
    const reply = await list(front);
    expect(resultOf(reply)).toEqual({ skills: [skill("one/pdf", "pdf")], "x-kept": true });
    expect(reply).toMatchObject({ freshness: FRESH });
  });

  test("leaves out what filters and rules leave out of the resources", async () => {
    const front = frontOf([serving("one", ["pdf", "secret/plan"]), serving("two", ["hidden"])], {
      servers: [server("one", { resources: { allow: ["*"], deny: ["skill://secret/*"] } }), server("two")],
      isVisible: (_, { target }) => !target.includes("hidden"),
    });
    await settle();
    expect(resultOf(await list(front)).skills).toEqual([skill("one/pdf", "pdf")]);
  });

  test("that waits while the config is replaced has the skills of the servers of the new config", async () => {
    const one = serving("one", ["pdf"], {}, "starting");
    const two = serving("two", ["refunds"], {}, "starting");
    let next: Front | undefined;
    const before = frontOf([one], {}, () => next ?? before);
    const listed = list(before);
    await pass(1_000);
    next = frontOf([one, two], { before: before.catalog });
    next.catalog.goLive();
    before.catalog.close();
    one.becomeReady();
    await pass(1_000);
    two.becomeReady();
    await settle();
    expect(resultOf(await listed).skills).toEqual([skill("one/pdf", "pdf"), skill("two/refunds", "refunds")]);
  });

  test("is not there where no server in sight has skills", async () => {
    const front = frontOf([serving("one", ["pdf"]), fakeUpstream("plain")]);
    await settle();
    expect(errorOf(await list(front, {}, fakeClient({ endpoint: "plain" }))).code).toBe(-32601);
    expect(errorOf(await list(front, { cursor: "theirs" })).code).toBe(-32602);
  });
});

describe("one skill", () => {
  test("and one folder is requested from its server", async () => {
    const [one, two] = [serving("one", []), serving("two", [], { directoryRead: true })];
    const front = frontOf([one, two]);
    await settle();
    await front.handle(fakeCall("skills/get", { uri: "skill://one/unlisted/SKILL.md" }));
    expect(received(one)).toEqual({ method: "skills/get", params: { uri: "skill://unlisted/SKILL.md" } });
    await front.handle(fakeCall("resources/directory/read", { uri: "skill://two/pdf", cursor: "theirs" }));
    expect(received(two)).toEqual({
      method: "resources/directory/read",
      params: { uri: "skill://pdf", cursor: "theirs" },
    });
  });

  test("of no server, or of one without the capability, is unknown", async () => {
    const [one, two] = [serving("one", []), serving("two", [], { directoryRead: true })];
    const front = frontOf([one, two, fakeUpstream("plain")]);
    await settle();
    const code = async (method: string, uri: string): Promise<unknown> =>
      errorOf(await front.handle(fakeCall(method, { uri }))).code;
    expect(await code("skills/get", "skill://nobody/pdf/SKILL.md")).toBe(-32602);
    expect(await code("skills/get", "skill://plain/pdf/SKILL.md")).toBe(-32602);
    expect(await code("resources/directory/read", "skill://one/pdf")).toBe(-32602);
    expect([...one.calls, ...two.calls]).toEqual([]);
  });

  test("is -32601 where no server has it", async () => {
    const front = frontOf([serving("one", ["pdf"])]);
    await settle();
    const reply = await front.handle(fakeCall("resources/directory/read", { uri: "skill://one/pdf" }));
    expect(errorOf(reply).code).toBe(-32601);
  });
});
