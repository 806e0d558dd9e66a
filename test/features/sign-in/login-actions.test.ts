/** Signing in over the admin listener: who may, from where, and with what body. */
import { describe, expect, onTestFinished, test } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import type { GatewayEvent } from "../../../src/core/gateway-events.js";
import { SILENT } from "../../../src/core/logger.js";
import { type AdminListenerOptions, createAdminListener } from "../../../src/features/admin/server.js";
import { type LoginActions, loginActions } from "../../../src/features/sign-in/admin-actions.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import { pagesOf } from "../../support/admin-pages.js";

const TOKEN = "a-token-of-some-length";
const OWNER = "a-token-of-the-owner";

/** A listener, and what was asked of its sign-ins. */
async function started(changes: Partial<AdminListenerOptions> = {}) {
  const asked: unknown[][] = [];
  const logins: LoginActions = {
    begin: async (...args) => {
      asked.push(["begin", ...args]);
      if (args[0] === "nothing")
        throw new GatewayError("bad_request", "gateway", "There is no server nothing.");
      return { login: "login-1", url: "https://as.example/authorize" };
    },
    state: async (...args) => {
      asked.push(["state", ...args]);
      return args[0] === "login-1" ? { state: "waiting" } : undefined;
    },
    acceptIssuer: async (...args) => {
      asked.push(["acceptIssuer", ...args]);
      return { server: args[0], issuer: "https://as.example" };
    },
    finish: async (...args) => void asked.push(["finish", ...args]),
    signOut: async (...args) => {
      asked.push(["signOut", ...args]);
      return { revoked: true };
    },
  };
  const admin = createAdminListener({
    host: "127.0.0.1",
    port: 0,
    token: TOKEN,
    ownerToken: OWNER,
    logger: SILENT,
    metrics: new Metrics({ version: "1", process: false }),
    readiness: () => ({ ready: true, reasons: [] }),
    pages: pagesOf({
      status: () => ({ version: "1", node: "v20", pid: 1, uptimeSeconds: 1, ready: true, reasons: [] }),
      servers: () => [],
      catalog: () => ({ tools: [], prompts: [], resources: [], resourceTemplates: [] }),
      sessions: () => [],
      questions: () => [],
    }),
    featureActions: loginActions(logins),
    ...changes,
  });
  const { url } = await admin.start();
  onTestFinished(() => admin.stop());
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    });
  return { url, asked, post };
}

const ACTIONS: readonly (readonly [path: string, body: string])[] = [
  ["/api/v1/logins/notes", "{}"],
  ["/api/v1/logins/notes/accept-issuer", "{}"],
  ["/api/v1/logins/notes/ann/sign-out", "{}"],
  ["/api/v1/sign-ins/state", '{"login":"login-1"}'],
  ["/api/v1/sign-ins/finish", '{"login":"login-1","url":"http://127.0.0.1/oauth/callback"}'],
];

describe.each(ACTIONS)("POST %s", (path, body) => {
  test.each([
    ["no token", ""],
    ["another token", "Bearer another-token-of-some-length"],
    ["the token in another scheme", `Basic ${TOKEN}`],
  ])("is refused with %s", async (_, authorization) => {
    const { asked, post } = await started();
    expect((await post(path, body, { authorization })).status).toBe(401);
    expect(asked).toEqual([]);
  });

  test("needs a token even if the pages need none", async () => {
    const { asked, url } = await started({ token: undefined as never });
    const answer = await fetch(url + path, {
      ...{ method: "POST", body, headers: { "content-type": "application/json" } },
    });
    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain("a sign-in needs the token of listen.admin");
    expect(asked).toEqual([]);
  });

  test.each([
    ["a foreign origin", { origin: "https://evil.example" }, 403],
    ["the origin null of a sandbox", { origin: "null" }, 403],
    ["a cross-site request", { "sec-fetch-site": "cross-site" }, 403],
    ["a same-site request of another port", { "sec-fetch-site": "same-site" }, 403],
    ["the content type of a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["the content type of plain text", { "content-type": "text/plain" }, 415],
    ["a type that only begins like JSON", { "content-type": "application/jsonp" }, 415],
  ])("is refused from %s", async (_, headers, status) => {
    const { asked, post } = await started();
    expect((await post(path, body, headers as Record<string, string>)).status).toBe(status);
    expect(asked).toEqual([]);
  });

  test("is refused with a body beyond the limit, or of the wrong content type", async () => {
    const { asked, post } = await started();
    expect((await post(path, `{"x":"${"y".repeat(16 * 1024 * 1024)}"}`)).status).toBe(413);
    for (const wrong of ["{", "[]", '"text"', "1"]) expect((await post(path, wrong)).status).toBe(400);
    expect(asked).toEqual([]);
  });

  test("accepts a body of unknown length (chunked) up to the limit", async () => {
    const { asked, url } = await started();
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const chunked = (text: string) =>
      fetch(url + path, { method: "POST", headers, body: new Blob([text]).stream(), duplex: "half" });
    expect((await chunked(`{"x":"${"y".repeat(4 * 1024 * 1024)}"}`)).status).toBe(413);
    expect(asked).toEqual([]);
    expect((await chunked(body)).status).toBe(200);
  });

  test("rejects other HTTP methods", async () => {
    const { url, asked } = await started();
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const answer = await fetch(url + path, { method, headers: { authorization: `Bearer ${TOKEN}` } });
      expect([404, 405]).toContain(answer.status);
    }
    expect(asked).toEqual([]);
  });
});

test.each([TOKEN, OWNER])("starts, polls, finishes and ends a sign-in with the token %s", async (token) => {
  const { asked, post } = await started();
  const headers = { authorization: `Bearer ${token}` };
  const begun = await post("/api/v1/logins/notes", '{"as":"ann","device":true}', headers);
  expect(await begun.json()).toMatchObject({ login: "login-1" });
  for (const [path, body] of ACTIONS) expect((await post(path, body, headers)).status).toBe(200);
  expect(asked).toEqual([
    ["begin", "notes", "ann", { device: true, acceptsAudience: false }],
    ["begin", "notes", "anonymous", { device: false, acceptsAudience: false }],
    ["acceptIssuer", "notes"],
    ["signOut", "notes", "ann"],
    ["state", "login-1"],
    ["finish", "login-1", "http://127.0.0.1/oauth/callback"],
  ]);
});

test("an unknown login, a missing member and an unknown server are errors with a sentence", async () => {
  const { post } = await started();
  const unknown = await post("/api/v1/sign-ins/state", '{"login":"login-2"}');
  expect(await unknown.json()).toEqual({ state: "unknown" });
  const missing = await post("/api/v1/sign-ins/finish", '{"login":"login-1"}');
  expect([missing.status, await missing.text()]).toEqual([
    400,
    expect.stringContaining('the body needs \\"url\\"'),
  ]);
  const nowhere = await post("/api/v1/logins/nothing", "{}");
  expect([nowhere.status, await nowhere.text()]).toEqual([
    400,
    expect.stringContaining("There is no server nothing"),
  ]);
});

test("a sign-out is an event of the operator, with the address; polling a sign-in is none", async () => {
  const events: GatewayEvent[] = [];
  const { post } = await started({ emit: (event) => events.push(event) });
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  await post("/api/v1/sign-ins/state", '{"login":"login-1"}', headers);
  expect(events).toEqual([]);
  await post("/api/v1/logins/linear/ann/sign-out", "{}", headers);
  expect(events).toEqual([
    {
      ...{ kind: "admin", principal: "admin-token", address: "127.0.0.1" },
      ...{ method: "sign_out", server: "linear", target: "ann", outcome: "done" },
    },
  ]);
});
