/** A call whose principal is not signed in at its server: the sign-in page is shown, and the call continues. */
import { describe, expect, test } from "vitest";
import { SIGN_IN_KEY } from "../../../src/core/call.js";
import type { FakeStore } from "../../support/fake-credentials.js";
import { ofServers } from "../../support/features.js";
import { type GuardedServer, guardedServer } from "../../support/guarded-server.js";
import type { Json } from "../../support/host/host.mjs";
import { refusalOf, textOf } from "../../support/host/host.mjs";
import type { RawHost } from "../../support/peers/raw.js";
import { until } from "../../support/until.js";
import { ERAS, pageOf, type Team, team, URLS } from "./team.js";

const pairs = ERAS.flatMap((host) => ERAS.map((server) => ({ host, server })));

/** A host of alice that has listed as a stranger, and of which the server knows nothing. */
async function stranger(
  era: "legacy" | "modern",
  server: GuardedServer,
  capabilities: Json = URLS,
  options: Parameters<typeof team>[1] = {},
): Promise<Team & { readonly host: RawHost }> {
  const made = await team({ url: server.url }, options);
  const host = await made.enter("alice", era, capabilities);
  await until("the tool", async () => (await host.list("tools")).some(({ name }) => name === "quiz__whoami"));
  return { ...made, host };
}

/** Resolves when a call waits for a sign-in: until then only the connections watch the store. */
const waiting = (store: FakeStore) => until("a waiting call", () => store.watchers("quiz") > 1);

const CALL = { name: "quiz__whoami", arguments: {} };
const paramsOf = (question: Json): Json => question.params as Json;

describe.each(pairs)(
  "a $host host with URL elicitation, and a $server server",
  ({ host: era, server: serverEra }) => {
    test("the sign-in page is shown, and the tool runs once, for that person", async () => {
      const server = await guardedServer({ era: serverEra, open: "lists" });
      const { host, store } = await stranger(era, server);
      const asked: Json[] = [];
      const { response, received } = await host.converse("tools/call", CALL, (question) => {
        asked.push(question);
        // The page is open; the person signs in while the call waits.
        void waiting(store).then(() => store.signIn("quiz", "alice"));
        return { action: "accept" };
      });
      expect(textOf(response)).toBe("you are alice");
      expect(asked).toHaveLength(1);
      expect(asked[0]).toMatchObject({
        method: "elicitation/create",
        params: {
          mode: "url",
          url: pageOf("alice"),
          message: expect.stringContaining('"quiz" wants you to sign in'),
        },
      });
      expect(server.ran).toEqual(["alice whoami"]);
      const complete = received.filter(({ method }) => method === "notifications/elicitation/complete");
      if (era === "legacy") {
        const { elicitationId } = paramsOf(asked[0] as Json);
        expect(complete.map(paramsOf)).toEqual([{ elicitationId }]);
      } else {
        expect(complete).toEqual([]);
        expect(Object.keys(paramsOf(asked[0] as Json))).not.toContain("elicitationId");
      }
      expect(store.watchers("quiz")).toBe(1);
    });

    test("a person who declines is not asked again, and the result names the sign-in page", async () => {
      const server = await guardedServer({ era: serverEra, open: "lists" });
      const { host } = await stranger(era, server);
      let asked = 0;
      const { response } = await host.converse("tools/call", CALL, () => {
        asked += 1;
        return { action: "decline" };
      });
      expect(asked).toBe(1);
      expect(refusalOf(response)).toMatchObject({
        code: "sign_in_required",
        server: "quiz",
        retryable: false,
      });
      expect(textOf(response)).toBe(
        `quiz needs a sign-in, which was declined: open ${pageOf("alice")}, or run "cardea login quiz --as alice". After the sign-in the same call will work.`,
      );
      expect(server.ran).toEqual([]);
    });

    test("another principal's sign-in does not resume the call", async () => {
      const server = await guardedServer({ era: serverEra, open: "lists" });
      const { host, store } = await stranger(era, server);
      const { response } = await host.converse("tools/call", CALL, () => {
        void waiting(store)
          .then(() => store.signIn("quiz", "bob"))
          .then(() => store.signIn("quiz", "alice"));
        return { action: "accept" };
      });
      expect(textOf(response)).toBe("you are alice");
      expect(server.ran).toEqual(["alice whoami"]);
    });
  },
);

describe.each(pairs)(
  "a $host host without URL elicitation, and a $server server",
  ({ host: era, server: serverEra }) => {
    test.each([
      ["declares nothing", {}],
      ["shows forms only", { elicitation: {} }],
    ])("gets the URL in the result if it %s", async (_, capabilities) => {
      const server = await guardedServer({ era: serverEra, open: "lists" });
      const { host, store } = await stranger(era, server, capabilities);
      const { message } = await host.call("quiz__whoami");
      expect(message).toMatchObject({
        result: {
          isError: true,
          _meta: {
            "cardea/refusal": { code: "sign_in_required", server: "quiz", retryable: false },
            "cardea/sign-in": { server: "quiz", url: pageOf("alice") },
          },
        },
      });
      expect(textOf(message)).toContain(`open ${pageOf("alice")}, or run "cardea login quiz --as alice"`);
      store.signIn("quiz", "alice");
      expect(textOf((await host.call("quiz__whoami")).message)).toBe("you are alice");
      expect(server.ran).toEqual(["alice whoami"]);
    });
  },
);

test.each(ERAS)("without a page the result of a %s host names the command", async (era) => {
  const server = await guardedServer({ era: "modern", open: "lists" });
  const { host } = await stranger(era, server, URLS, { hasPages: false });
  const { message } = await host.call("quiz__whoami");
  expect(textOf(message)).toBe(
    'quiz needs a sign-in: run "cardea login quiz --as alice". After the sign-in the same call will work.',
  );
  expect(JSON.stringify(message)).not.toContain(SIGN_IN_KEY);
});

test.each(ERAS)("lists of a %s host never ask for a sign-in", async (era) => {
  const server = await guardedServer({ era: "modern" });
  const { enter } = await team({ url: server.url });
  const host = await enter("alice", era, URLS);
  for (const list of ["tools", "prompts", "resources", "resourceTemplates"] as const)
    expect(ofServers(await host.list(list))).toEqual([]);
  expect(host.introduction().serverInfo).toMatchObject({ name: "cardea" });
});

test("a host of 2025-11-25 without a stream for the question gets the error with the URL", async () => {
  const server = await guardedServer({ era: "legacy", open: "lists" });
  const { host } = await stranger("legacy", server);
  const { response } = await host.converse("tools/call", CALL, () => {
    throw new Error("no stream");
  });
  expect(response.error).toMatchObject({
    code: -32042,
    data: { elicitations: [{ mode: "url", url: pageOf("alice"), elicitationId: expect.any(String) }] },
  });
  expect(server.ran).toEqual([]);
});

test("a token that has expired since asks for a sign-in again", async () => {
  const server = await guardedServer({ era: "modern" });
  const { enter, store } = await team({ url: server.url });
  store.signIn("quiz", "alice");
  const host = await enter("alice", "modern", URLS);
  await until("the tool", async () => (await host.list("tools")).some(({ name }) => name === "quiz__whoami"));
  server.refused.add("alice");
  const { response } = await host.converse("tools/call", CALL, ({ params }) => {
    expect((params as Json).url).toBe(pageOf("alice"));
    server.refused.delete("alice");
    store.signIn("quiz", "alice");
    return { action: "accept" };
  });
  expect(textOf(response)).toBe("you are alice");
  expect(server.ran).toEqual(["alice whoami"]);
});
