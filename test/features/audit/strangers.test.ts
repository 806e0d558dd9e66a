/** What a client without credentials can cause to be written: a bounded number of log lines, and no line of the audit log. */
import "../admin/needed.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { strangerLog } from "../../../src/telemetry/stranger-log.js";
import { hasFeature, openedFeatures, testOf } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { sample } from "../../support/sample.js";
import { adversarialServer } from "../../support/sign-in/adversarial-server.js";
import { linesOf, newLog } from "./logs.js";

const HASH = `sha256:${"a".repeat(64)}`;

async function gatewayOf(auth: object) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-strangers-"));
  const log = newLog();
  const lines: string[] = [];
  const line = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
  const logger = { ...SILENT, info: line, warn: line, error: line };
  const config = configOf({
    listen: { http: { port: 0, legacySse: true }, admin: { port: 0, token: "a-token-of-the-operator" } },
    auth,
    mcpServers: { notes: { url: (await adversarialServer()).mcpUrl } },
    audit: { file: log },
  });
  const options = { logger, version: "0.0.0-test", redact: (text: string) => text };
  const features = await openedFeatures(config, { ...options, stateFolder: folder });
  const gateway = createGateway(config, { ...options, features });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const kinds = (): readonly string[] =>
    linesOf(log)
      .map((each) => (JSON.parse(each) as { readonly kind: string }).kind)
      .filter((kind) => kind !== "start");
  return { origin: new URL(url).origin, adminUrl, lines, kinds };
}

type Place = Awaited<ReturnType<typeof gatewayOf>>;

const post = (url: string, body: string, type = "application/json"): Promise<Response> =>
  fetch(url, { method: "POST", body, headers: { "content-type": type } });
const FORM = "application/x-www-form-urlencoded";

/** A request of a stranger, the n-th of its kind. */
const REQUESTS: Readonly<Record<string, (place: Place, n: number) => Promise<Response>>> = {
  "a callback with a made-up state": ({ origin }, n) => fetch(`${origin}/oauth/callback?state=x${n}&code=c`),
  "a callback without a state": ({ origin }) => fetch(`${origin}/oauth/callback?error=access_denied`),
  "a callback with lines in its state": ({ origin }, n) =>
    fetch(`${origin}/oauth/callback?state=a%0ab%0d${n}`),
  "a callback by POST": ({ origin }) => post(`${origin}/oauth/callback`, "state=x", FORM),
  "a made-up connect page": ({ origin }, n) => fetch(`${origin}/oauth/connect/${n}`),
  "the form of a made-up connect page": ({ origin }, n) =>
    post(`${origin}/oauth/connect/${n}`, `csrf=x&key=${n}`, FORM),
  "the client metadata document": ({ origin }) => fetch(`${origin}/oauth/client.json`),
  "a call without credentials": ({ origin }) =>
    post(`${origin}/mcp`, '{"jsonrpc":"2.0","id":1,"method":"ping"}'),
  "a call with a made-up key": ({ origin }, n) =>
    fetch(`${origin}/mcp`, { method: "POST", body: "{}", headers: { authorization: `Bearer made-up-${n}` } }),
  "an event stream without credentials": ({ origin }) => fetch(`${origin}/sse`),
  "a message to a made-up session": ({ origin }, n) => post(`${origin}/messages?sessionId=${n}`, "{}"),
  "an admin action without the token": ({ adminUrl }) => post(`${adminUrl}/api/v1/logins/notes`, "{}"),
  "an admin action with a made-up token": ({ adminUrl }, n) =>
    fetch(`${adminUrl}/api/v1/servers/notes/restart`, {
      method: "POST",
      body: "{}",
      headers: { authorization: `Bearer made-up-${n}`, "content-type": "application/json" },
    }),
  "a path that does not exist": ({ origin }, n) => fetch(`${origin}/made-up/${n}`),
};

const AT_SIGN_IN: typeof REQUESTS = {
  "an authorization request of a made-up client": ({ origin }, n) =>
    fetch(`${origin}/oauth/authorize?client_id=made-up-${n}&response_type=code`, { redirect: "manual" }),
  "an answer of the issuer that belongs to no sign-in": ({ origin }, n) =>
    fetch(`${origin}/oauth/authorize/callback?state=x${n}&code=c`, { redirect: "manual" }),
  "a decision without its page": ({ origin }) => post(`${origin}/oauth/authorize`, "decision=deny", FORM),
  "a made-up code": ({ origin }, n) =>
    post(`${origin}/oauth/token`, `grant_type=authorization_code&code=${n}&client_id=x`, FORM),
  "a made-up refresh token": ({ origin }, n) =>
    post(`${origin}/oauth/token`, `grant_type=refresh_token&refresh_token=${n}&client_id=x`, FORM),
  "a made-up token to revoke": ({ origin }, n) =>
    post(`${origin}/oauth/revoke`, `token=${n}&client_id=x`, FORM),
  "a registration": ({ origin }, n) =>
    post(
      `${origin}/oauth/register`,
      JSON.stringify({ client_name: `x${n}`, redirect_uris: ["https://x.example/"] }),
    ),
  "a registration that is none": ({ origin }) => post(`${origin}/oauth/register`, "[]"),
};

const TIMES = 60;
const MAX_LINES = 25;

test.each(sample("requests of strangers", Object.keys(REQUESTS), 6))(
  "%s, sent often, has few log lines and no audit line",
  async (name) => {
    const place = await gatewayOf({ keys: [{ id: "ann", hash: HASH }] });
    const before = place.lines.length;
    for (let n = 0; n < TIMES; n += 1) await (await REQUESTS[name]?.(place, n))?.text();
    expect(place.kinds()).toEqual([]);
    expect(place.lines.length - before).toBeLessThanOrEqual(MAX_LINES);
    if (name.startsWith("a callback with") && hasFeature("sign-in")) {
      const headers = { authorization: "Bearer a-token-of-the-operator" };
      const metrics = await (await fetch(`${place.adminUrl}/metrics`, { headers })).text();
      expect(metrics).toContain(`cardea_sign_ins_total{server="none",outcome="refused"} ${TIMES}`);
    }
  },
);

testOf("authorization-server").each(sample("strangers at the sign-in", Object.keys(AT_SIGN_IN), 4))(
  "%s, sent often to auth.signIn, has few log lines and no audit line",
  async (name) => {
    const { issuer } = await adversarialServer();
    const place = await gatewayOf({
      signIn: { issuer, clientId: "cardea", clientSecret: "a-secret-of-the-gateway" },
    });
    const before = place.lines.length;
    for (let n = 0; n < TIMES; n += 1) await (await AT_SIGN_IN[name]?.(place, n))?.text();
    expect(place.kinds()).toEqual([]);
    expect(place.lines.length - before).toBeLessThanOrEqual(MAX_LINES);
  },
);

test("what is left out of the log is counted in the next line, and lines of known principals are all written", () => {
  const lines: string[] = [];
  let now = 0;
  const line = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
  const log = strangerLog({ ...SILENT, warn: line, info: line }, () => now);
  for (let n = 0; n < 1_000; n += 1) log.warn({ n }, "refused");
  expect(lines).toHaveLength(10);
  for (let n = 0; n < 20; n += 1) log.info({ principal: "ann" }, "signed in");
  expect(lines).toHaveLength(30);
  now = 30_000;
  log.info({}, "refused");
  expect(lines.at(-1)).toBe('refused; 990 such lines were left out before {"leftOut":990}');
});
