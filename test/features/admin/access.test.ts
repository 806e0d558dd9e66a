/** Persons at the admin API: who may read and act there with a token of the issuer of hosts (`listen.admin.access`). */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasFeature, testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";
import { AUDIENCE, type Claims, issuer } from "../../support/issuer.js";
import { startUpstream, UPSTREAMS } from "../../support/scripted/upstreams.js";
import "./needed.js";

const TOKEN = "operator-token-of-this-test";
const ACCESS = { viewers: ["group:oncall", "u-4711"], operators: ["group:platform"] };

type Answer = {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly challenge: string | null;
};

async function started(file: object = {}, admin: object = {}) {
  const company = await issuer();
  const kind = UPSTREAMS.find(({ transport }) => transport === "stdio") ?? UPSTREAMS[0];
  if (kind === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const gateway = await gatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0, access: ACCESS, ...admin } },
    auth: { jwt: { issuer: company.url, audience: AUDIENCE } },
    mcpServers: { one: upstream.entry },
    ...file,
  });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  await gateway.lists("tools");
  const ask = async (
    path: string,
    credentials: Claims | string | undefined,
    how: RequestInit = {},
  ): Promise<Answer> => {
    const token = typeof credentials === "object" ? await company.token(credentials) : credentials;
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...how.headers,
    };
    const response = await fetch(`${adminUrl}/${path}`, { ...how, headers });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return {
      status: response.status,
      body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
      challenge: response.headers.get("www-authenticate"),
    };
  };
  const act = (path: string, credentials: Claims | string | undefined) =>
    ask(`api/v1/${path}`, credentials, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
  return { company, gateway, url, adminUrl, ask, act };
}

const VIEWER = { sub: "vera", groups: ["oncall"] };
const OPERATOR = { sub: "olaf", groups: ["platform"] };
const OTHER = { sub: "otto", groups: ["sales"] };

describe("a person", () => {
  test("of a group of viewers reads pages, and gets 403 for actions", async () => {
    const { ask, act } = await started();
    expect(await ask("api/v1/servers", VIEWER)).toMatchObject({ status: 200, body: [{ name: "one" }] });
    expect(await ask("api/v1/status", { sub: "u-4711" })).toMatchObject({ status: 200 });
    expect(await act("servers/one/restart", VIEWER)).toMatchObject({
      status: 403,
      body: { error: "vera may only read here: actions are for the operators of listen.admin.access" },
    });
    expect(await act("calls", VIEWER)).toMatchObject({ status: 403 });
    expect(await act("mcp", VIEWER)).toMatchObject({ status: 403 });
    expect(await act("console/link", VIEWER)).toMatchObject({ status: 403 });
  });

  test("of a group of operators reads and acts, but makes no link, which unlocks without a name", async () => {
    const { ask, act } = await started();
    expect(await ask("api/v1/servers", OPERATOR)).toMatchObject({ status: 200 });
    expect(await act("servers/one/restart", OPERATOR)).toMatchObject({ status: 200, body: { done: true } });
    expect(await act("console/link", OPERATOR)).toMatchObject({ status: 403 });
  });

  test("in neither list gets 403, and no page but who it is", async () => {
    const { ask, act } = await started();
    for (const path of ["api/v1/status", "api/v1/openapi.json", "api/v1/calls/stream", "api/v1/servers"])
      expect(await ask(path, OTHER), path).toMatchObject({
        status: 403,
        body: { error: expect.stringContaining("listen.admin.access names neither") },
      });
    expect(await act("servers/one/restart", OTHER)).toMatchObject({ status: 403 });
    // Each person may be an approver.
    const pages = hasFeature("policy") ? ["/api/v1/approvals"] : [];
    expect(await ask("api/v1", OTHER)).toMatchObject({ status: 200, body: { pages, actions: [] } });
    expect(await ask("api/v1/me", OTHER)).toMatchObject({ body: { principal: "otto", role: "person" } });
  });

  test("has the groups of the token that it sends, whatever an earlier one had", async () => {
    const { act } = await started();
    expect(await act("servers/one/restart", OPERATOR)).toMatchObject({ status: 200 });
    expect(await act("servers/one/restart", { sub: "olaf", groups: ["oncall"] })).toMatchObject({
      status: 403,
    });
    expect(await act("servers/one/restart", OPERATOR)).toMatchObject({ status: 200 });
  });

  test("whose token is expired, of a stranger, or for another audience, gets 401 with a challenge", async () => {
    const { ask, company } = await started();
    const refused = [
      await company.token({ ...OPERATOR, exp: 1 }),
      await company.token(OPERATOR, { secretly: true }),
      await company.token({ ...OPERATOR, aud: "https://elsewhere.example/mcp" }),
      "not-a-token-at-all-of-anyone",
    ];
    for (const token of refused)
      expect(await ask("api/v1/status", token)).toMatchObject({
        status: 401,
        challenge: expect.stringContaining("invalid_token"),
      });
  });
});

test("without a token nothing is served on this machine either, but health, metrics and the console", async () => {
  const { ask, act } = await started();
  expect(await ask("api/v1/status", undefined)).toMatchObject({
    status: 401,
    challenge: 'Bearer realm="cardea admin"',
  });
  expect(await act("servers/one/restart", undefined)).toMatchObject({ status: 401 });
  for (const path of ["healthz", "metrics", ""])
    expect(await ask(path, undefined)).toMatchObject({ status: 200 });
  expect((await ask("api/v1/me", undefined)).body).toEqual({});
});

test("an API key of a host is no person, whatever its groups are", async () => {
  const { createHash } = await import("node:crypto");
  const key = "a-key-of-a-host-that-is-long-enough";
  const company = await issuer();
  const hash = `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const { ask } = await started({
    auth: {
      jwt: { issuer: company.url, audience: AUDIENCE },
      keys: [{ id: "ci", hash, groups: ["platform"] }],
    },
  });
  expect(await ask("api/v1/status", key)).toMatchObject({
    status: 401,
    body: { error: "this listener takes the tokens of persons, and no API keys" },
  });
});

test("the token of the config works beside persons, and metrics need it or a viewer's", async () => {
  const { ask, act } = await started({}, { token: TOKEN });
  expect(await act("servers/one/restart", TOKEN)).toMatchObject({ status: 200 });
  expect(await act("servers/one/restart", OPERATOR)).toMatchObject({ status: 200 });
  expect(await ask("metrics", TOKEN)).toMatchObject({ status: 200 });
  expect(await ask("metrics", VIEWER)).toMatchObject({ status: 200 });
  expect(await ask("metrics", undefined)).toMatchObject({ status: 401 });
  expect(await ask("metrics", OTHER)).toMatchObject({ status: 403 });
});

test("the list of pages and actions has what the caller may use", async () => {
  const { ask } = await started();
  const of = async (who: Claims) => (await ask("api/v1", who)).body as { pages: string[]; actions: string[] };
  const [viewer, operator] = [await of(VIEWER), await of(OPERATOR)];
  expect(viewer.pages).toEqual(operator.pages);
  expect(viewer.actions).toEqual([]);
  expect(operator.actions).toContain("/api/v1/servers/:target/restart");
});

testOf("audit")("audit lines have the principal and the address of each action", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cardea-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "audit.jsonl");
  const { act, gateway } = await started({ audit: { file } }, { token: TOKEN });
  await act("servers/one/restart", OPERATOR);
  await act("tools/one__echo/disable", TOKEN);
  await gateway.stop({ immediate: true });
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ kind }) => kind === "admin")).toMatchObject([
    { principal: "olaf", method: "restart_server", target: "one", address: "127.0.0.1" },
    { principal: "admin-token", method: "disable_tool", target: "one__echo", address: "127.0.0.1" },
  ]);
});

testOf("policy")(
  "a call over the admin API is that of the person who asks, and rules see its groups",
  async () => {
    const { ask } = await started({
      policy: {
        rules: [{ name: "not-olaf", tools: ["*"], when: "principal.id == 'olaf'", effect: "deny" }],
      },
    });
    const call = (who: Claims) =>
      ask("api/v1/calls", who, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: "one__echo", arguments: { text: "a" } }),
      });
    expect(JSON.stringify((await call(OPERATOR)).body)).toContain("not-olaf");
    expect(JSON.stringify((await call({ sub: "olga", groups: ["platform"] })).body)).not.toContain(
      "not-olaf",
    );
  },
);
