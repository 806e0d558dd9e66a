/** Servers behind a login, for a team: nothing of one principal's reaches another. */
import "../admin/needed.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { FakeStore } from "../../support/fake-credentials.js";
import { guardedServer } from "../../support/guarded-server.js";
import { refusalOf, textOf } from "../../support/host/host.mjs";
import type { RawHost } from "../../support/peers/raw.js";
import { until } from "../../support/until.js";
import { ERAS, team } from "./team.js";

const pairs = ERAS.flatMap((host) => ERAS.map((server) => ({ host, server })));

const toolsOf = async (host: RawHost) => (await host.list("tools")).map(({ name }) => name);
const whoami = async (host: RawHost) => (await host.call("quiz__whoami")).message;
const knows = (host: RawHost, tool: string) =>
  until(`${tool} in the list`, async () => (await toolsOf(host)).includes(tool));

describe.each(pairs)("a $host host and a $server server", ({ host: era, server: serverEra }) => {
  test("each principal calls and lists as that principal", async () => {
    const server = await guardedServer({ era: serverEra });
    const { store, enter } = await team({ url: server.url });
    store.signIn("quiz", "alice");
    store.signIn("quiz", "bob");
    const [alice, bob] = [await enter("alice", era), await enter("bob", era)];
    await knows(alice, "quiz__only_alice");
    await knows(bob, "quiz__only_bob");
    expect(await toolsOf(alice)).toEqual(["quiz__whoami", "quiz__only_alice"]);
    expect(await toolsOf(bob)).toEqual(["quiz__whoami", "quiz__only_bob"]);
    expect([textOf(await whoami(alice)), textOf(await whoami(bob))]).toEqual([
      "you are alice",
      "you are bob",
    ]);
    expect(refusalOf((await bob.call("quiz__only_alice")).message) ?? {}).not.toMatchObject({
      retryable: true,
    });
    expect(server.ran).toEqual(["alice whoami", "bob whoami"]);
  });

  test("a principal without a sign-in sees and gets nothing of those who have one", async () => {
    const server = await guardedServer({ era: serverEra });
    const { store, enter, adminUrl } = await team({ url: server.url }, { hasPages: false });
    store.signIn("quiz", "alice");
    const alice = await enter("alice", era);
    await knows(alice, "quiz__only_alice");
    const bob = await enter("bob", era);
    expect(await toolsOf(bob)).toEqual([]);
    expect(bob.introduction().instructions ?? "").not.toContain("alice");
    const response = await whoami(bob);
    expect(JSON.stringify(response)).not.toContain("alice");
    expect(refusalOf(response)).toMatchObject({ code: "sign_in_required", server: "quiz", retryable: false });
    expect(server.ran).toEqual([]);
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    expect(metrics).not.toMatch(/token-of|alice|bob/);
  });

  test.each(["alone", "beside another"])(
    "a call immediately after the sign-in runs, for a principal %s",
    async (company) => {
      const server = await guardedServer({ era: serverEra });
      const { store, enter } = await team({ url: server.url }, { hasPages: false });
      if (company !== "alone") {
        store.signIn("quiz", "alice");
        await knows(await enter("alice", era), "quiz__whoami");
      }
      const bob = await enter("bob", era);
      expect(refusalOf(await whoami(bob))).toMatchObject({ code: "sign_in_required" });
      const asked = server.asked.length;
      expect(refusalOf(await whoami(bob))).toMatchObject({ code: "sign_in_required" });
      // Nothing is sent without a sign-in.
      expect(server.asked.length).toBe(asked);
      store.signIn("quiz", "bob");
      expect(textOf(await whoami(bob))).toBe("you are bob");
      expect(server.ran).toEqual(["bob whoami"]);
    },
  );

  test("a call immediately after the sign-in runs, without principals", async () => {
    const server = await guardedServer({ era: serverEra });
    const { store, enter } = await team(
      { url: server.url },
      { config: { auth: undefined }, hasPages: false },
    );
    const host = await enter("anybody", era);
    expect(refusalOf(await whoami(host))).toMatchObject({ code: "sign_in_required" });
    store.signIn("quiz", "anonymous");
    expect(textOf(await whoami(host))).toBe("you are anonymous");
  });

  test("a principal who signed out is no longer served, and the others are", async () => {
    const server = await guardedServer({ era: serverEra });
    const { store, enter } = await team({ url: server.url }, { hasPages: false });
    store.signIn("quiz", "alice");
    store.signIn("quiz", "bob");
    const [alice, bob] = [await enter("alice", era), await enter("bob", era)];
    await knows(alice, "quiz__whoami");
    await knows(bob, "quiz__whoami");
    store.signOut("quiz", "alice");
    expect(refusalOf(await whoami(alice))).toMatchObject({ code: "sign_in_required", server: "quiz" });
    expect(textOf(await whoami(bob))).toBe("you are bob");
    expect(server.ran).toEqual(["bob whoami"]);
  });
});

test.each(ERAS)(
  "a %s host answers what a modern server asks in a call, which ends as its principal",
  async (era) => {
    const server = await guardedServer({ era: "modern" });
    const { store, enter } = await team({ url: server.url });
    store.signIn("quiz", "alice");
    const alice = await enter("alice", era, { elicitation: { form: {} } });
    await knows(alice, "quiz__only_alice");
    const params = { name: "quiz__whoami", arguments: { ask: true } };
    const { response } = await alice.converse("tools/call", params, () => ({
      action: "accept",
      content: {},
    }));
    expect(textOf(response)).toBe("you are alice");
    expect(server.ran).toEqual(["alice whoami"]);
  },
);

describe("a server that lists without authentication, and requires a sign-in at the first call", () => {
  test.each(pairs)(
    "serves a $host host of a $server server as its principal",
    async ({ host: era, server: serverEra }) => {
      const server = await guardedServer({ era: serverEra, open: "lists" });
      const { store, enter } = await team({ url: server.url }, { hasPages: false });
      const [alice, bob] = [await enter("alice", era), await enter("bob", era)];
      await knows(alice, "quiz__whoami");
      expect(await toolsOf(bob)).toEqual(["quiz__whoami"]);
      expect(refusalOf(await whoami(bob))).toMatchObject({ code: "sign_in_required", retryable: false });
      store.signIn("quiz", "alice");
      expect(textOf(await whoami(alice))).toBe("you are alice");
      expect(refusalOf(await whoami(bob))).toMatchObject({ code: "sign_in_required" });
      expect(server.ran).toEqual(["alice whoami"]);
    },
  );
});

describe("lists that are cached between two runs of the gateway", () => {
  test.each(pairs)(
    "show a $host host nothing of another principal at a $server server",
    async ({ host: era, server: serverEra }) => {
      const lists = mkdtempSync(join(tmpdir(), "cardea-lists-apart-"));
      onTestFinished(() => rmSync(lists, { recursive: true, force: true }));
      const server = await guardedServer({ era: serverEra });
      const first = await team({ url: server.url }, { lists, hasPages: false });
      first.store.signIn("quiz", "alice");
      await knows(await first.enter("alice", era), "quiz__only_alice");
      await first.gateway.stop();

      const { store, enter } = await team({ url: server.url }, { lists, hasPages: false });
      const bob = await enter("bob", era);
      expect(await toolsOf(bob)).not.toContain("quiz__only_alice");
      expect(refusalOf(await whoami(bob))).toMatchObject({ code: "sign_in_required", server: "quiz" });
      store.signIn("quiz", "bob");
      await knows(bob, "quiz__only_bob");
      expect(await toolsOf(bob)).toEqual(["quiz__whoami", "quiz__only_bob"]);
      store.signIn("quiz", "alice");
      const alice = await enter("alice", era);
      await knows(alice, "quiz__only_alice");
      expect(await toolsOf(bob)).toEqual(["quiz__whoami", "quiz__only_bob"]);
    },
  );
});

describe("the response cache", () => {
  test("shares what a server calls public only within the principal whose credentials obtained it", async () => {
    const server = await guardedServer({ era: "modern", ttlMs: 600_000 });
    const { store, enter } = await team({ url: server.url });
    store.signIn("quiz", "alice");
    store.signIn("quiz", "bob");
    const [alice, bob] = [await enter("alice", "modern"), await enter("bob", "modern")];
    await knows(alice, "quiz__whoami");
    await knows(bob, "quiz__whoami");
    expect(textOf(await whoami(alice))).toBe("you are alice");
    expect(textOf(await whoami(bob))).toBe("you are bob");
    expect(textOf(await whoami(alice))).toBe("you are alice");
  });
});

describe("without authentication of hosts", () => {
  test.each(pairs)(
    "$host hosts of a $server server are one principal with shared credentials",
    async ({ host: era, server: serverEra }) => {
      const server = await guardedServer({ era: serverEra });
      const signedIn = new FakeStore();
      signedIn.signIn("quiz", "anonymous");
      const { enterByPipe, gateway } = await team(
        { url: server.url },
        { config: { auth: undefined }, store: signedIn },
      );
      const host = await enterByPipe(era);
      await gateway.lists("tools");
      expect(await toolsOf(host)).toEqual(["quiz__whoami", "quiz__only_anonymous"]);
      expect(textOf(await whoami(host))).toBe("you are anonymous");
    },
  );
});

test("with auth.as one sign-in is used for all principals", async () => {
  const server = await guardedServer({ era: "modern" });
  const { store, enter } = await team({ url: server.url, auth: { as: "shared" } });
  store.signIn("quiz", "shared", "token-of-office");
  const [alice, bob] = [await enter("alice", "modern"), await enter("bob", "legacy")];
  await knows(alice, "quiz__only_office");
  await knows(bob, "quiz__only_office");
  expect([textOf(await whoami(alice)), textOf(await whoami(bob))]).toEqual([
    "you are office",
    "you are office",
  ]);
});

describe("the state of a server that needs a sign-in", () => {
  const serverRow = async (adminUrl: string) =>
    (
      (await (await fetch(`${adminUrl}/api/v1/servers`)).json()) as { state: string; lastError?: string }[]
    )[0];

  test.each(ERAS)(
    "is needs_sign_in at a %s server: the gateway is ready, with one warning and without reconnect attempts",
    async (era) => {
      const server = await guardedServer({ era });
      const { adminUrl, enter, warnings } = await team({ url: server.url, required: true });
      await until("the state", async () => (await serverRow(adminUrl))?.state === "needs_sign_in");
      expect((await serverRow(adminUrl))?.lastError).toBe(
        "each person signs in at quiz: cardea login quiz --as ID, or the page that a call leads to",
      );
      const ready = await fetch(`${adminUrl}/readyz`);
      expect(ready.status).toBe(200);
      // Persons sign in, and none has been refused: nothing is wrong with the gateway.
      expect(await ready.json()).toEqual({ ready: true, reasons: [] });
      const asked = server.asked.length;
      expect(await toolsOf(await enter("alice", "legacy"))).toEqual([]);
      expect(server.asked.length).toBe(asked);
      expect(warnings.filter((sentence) => sentence.includes("quiz"))).toEqual([
        'quiz needs a sign-in: run "cardea login quiz --as ID"',
      ]);
    },
  );

  test.each(ERAS)(
    "becomes ready with the sign-in at a %s server, and hosts get list_changed",
    async (era) => {
      const server = await guardedServer({ era });
      const { adminUrl, enter, store } = await team({ url: server.url });
      await until("the state", async () => (await serverRow(adminUrl))?.state === "needs_sign_in");
      const alice = await enter("alice", "legacy");
      expect(await toolsOf(alice)).toEqual([]);
      const heard: unknown[] = [];
      const stop = await alice.follow({ toolsListChanged: true }, ({ method }) => heard.push(method));
      store.signIn("quiz", "alice");
      await until("the notice", () => heard.includes("notifications/tools/list_changed"));
      expect(await toolsOf(alice)).toEqual(["quiz__whoami", "quiz__only_alice"]);
      expect((await serverRow(adminUrl))?.state).toBe("ready");
      await stop();
    },
  );
});
