/** Who may look at the admin pages, and who may not. */
import { createHash } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { bearerAuth } from "../../../src/features/admin/access.js";
import { adminApp } from "../../../src/features/admin/app.js";
import { consoleFiles } from "../../../src/features/admin/console-files.js";
import { type AdminListenerOptions, createAdminListener } from "../../../src/features/admin/server.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import { pagesOf } from "../../support/admin-pages.js";

const compared = vi.hoisted(() => ({ times: 0 }));
vi.mock("node:crypto", async (load) => {
  const real = await load<typeof import("node:crypto")>();
  return {
    ...real,
    timingSafeEqual(a: Buffer, b: Buffer) {
      compared.times += 1;
      return real.timingSafeEqual(a, b);
    },
  };
});

const TOKEN = "a-token-of-some-length";
const settings: AdminListenerOptions = {
  host: "127.0.0.1",
  port: 0,
  token: TOKEN,
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
};

async function started(changes: Partial<AdminListenerOptions> = {}): Promise<string> {
  const admin = createAdminListener({ ...settings, ...changes });
  const { url } = await admin.start();
  onTestFinished(() => admin.stop());
  return url;
}

/** Every page that is served, parameters filled in. */
const paths = [
  ...new Set(
    adminApp(settings, await settings.pages())
      .routes.filter(({ method }) => method === "GET")
      .map(({ path }) => path.replace(":page", "status")),
  ),
];

/** They say nothing of what happens here: the console's files are the same in every installation. */
const PUBLIC = ["/api/v1/me", "/healthz", "/readyz", ...consoleFiles().keys()];

describe("with a token, the admin listener", () => {
  test("requires it for every path except the public ones", async () => {
    const url = await started();
    expect(paths).toEqual(expect.arrayContaining(["/metrics", "/api/v1", "/api/v1/status", ...PUBLIC]));
    for (const path of [...paths, "/api/v1/nothing", "/nothing", "/api/v1/status/", "/API/v1/status"]) {
      const answer = await fetch(url + path);
      const expected = PUBLIC.includes(path) ? 200 : 401;
      expect([path, answer.status]).toEqual([path, expected]);
      if (expected === 401)
        expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="cardea admin"');
    }
  });

  test("serves every page to a request with the token", async () => {
    const url = await started();
    for (const authorization of [`Bearer ${TOKEN}`, `bearer  ${TOKEN} `]) {
      for (const path of paths) {
        const answer = await fetch(url + path, { headers: { authorization } });
        expect([path, answer.status]).toEqual([path, 200]);
      }
    }
  });

  test.each([
    ["nothing", {}],
    ["another token", { authorization: "Bearer a-token-of-some-lengtH" }],
    ["its beginning", { authorization: "Bearer a-token-of-some-lengt" }],
    ["an empty one", { authorization: "Bearer " }],
    ["another scheme", { authorization: `Basic ${TOKEN}` }],
    ["the bare token", { authorization: TOKEN }],
    ["a cookie", { cookie: `token=${TOKEN}` }],
    ["the header of hosts", { "x-api-key": TOKEN }],
  ] as [string, Record<string, string>][])("refuses %s", async (_what, headers) => {
    const url = await started();
    expect((await fetch(`${url}/metrics`, { headers })).status).toBe(401);
  });

  test("refuses a token in the query", async () => {
    const url = await started();
    expect((await fetch(`${url}/metrics?token=${TOKEN}&access_token=${TOKEN}`)).status).toBe(401);
  });

  test("answers an unauthenticated POST with 401, not 405", async () => {
    const url = await started();
    expect((await fetch(`${url}/api/v1/status`, { method: "POST" })).status).toBe(401);
  });
});

describe("the token", () => {
  test("may be a hash in the config, and the hash itself does not authenticate", () => {
    const hashed = `sha256:${createHash("sha256").update(TOKEN).digest("hex")}`;
    expect(bearerAuth(hashed)(`Bearer ${TOKEN}`)).toBe(true);
    expect(bearerAuth(hashed)(`Bearer ${hashed}`)).toBe(false);
  });

  test("is compared in constant time", () => {
    const mayLook = bearerAuth(TOKEN);
    for (const sent of [TOKEN, "a", `${TOKEN}x`]) {
      compared.times = 0;
      mayLook(`Bearer ${sent}`);
      expect(compared.times).toBe(1);
    }
  });
});

describe("without a token, the admin listener", () => {
  test("listens only on loopback", async () => {
    const { token: _, ...open } = settings;
    for (const host of ["0.0.0.0", "::", "10.0.0.1"]) {
      const admin = createAdminListener({ ...open, host });
      await expect(admin.start()).rejects.toThrow(`refused to listen on ${host}`);
    }
    const admin = createAdminListener(open);
    const { url } = await admin.start();
    onTestFinished(() => admin.stop());
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });

  test("needs one to listen beyond loopback", async () => {
    expect((await fetch(`${await started({ host: "0.0.0.0" })}/healthz`)).status).toBe(200);
  });
});
