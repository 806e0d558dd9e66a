/** Links that unlock the console: how often, how long, and for whom. */
import { describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { OPERATOR_ACTIONS } from "../../../src/features/admin/actions.js";
import { ConsoleLinks } from "../../../src/features/admin/console-links.js";
import { type AdminListenerOptions, createAdminListener } from "../../../src/features/admin/server.js";

const OWNER = "the-token-of-the-owner";
const HOUR = 60 * 60 * 1_000;

/** Links at a time that the test sets, in ms. */
function linksAt() {
  const clock = { ms: 0 };
  return { clock, links: new ConsoleLinks(() => clock.ms) };
}

describe("a code", () => {
  test("unlocks one page, once", () => {
    const { links } = linksAt();
    const code = links.issue();
    expect(links.redeem(code, "a")).toEqual({ token: expect.stringMatching(/^[\w-]{43}$/) });
    expect(links.redeem(code, "a")).toBeUndefined();
  });

  test.each([
    [59_999, true],
    [60_000, false],
  ])("after %i ms is valid: %s", (ms, isValid) => {
    const { clock, links } = linksAt();
    const code = links.issue();
    clock.ms = ms;
    expect(links.redeem(code, "a") !== undefined).toBe(isValid);
  });

  test.each([undefined, 7, "", "short", "A".repeat(43), "A".repeat(1_000_000)])("is not %j", (code) => {
    const { links } = linksAt();
    links.issue();
    expect(links.redeem(code, "a")).toBeUndefined();
  });

  test("is one of sixteen: a further one ends the oldest", () => {
    const { links } = linksAt();
    const [first, second, ...others] = Array.from({ length: 17 }, () => links.issue());
    expect(links.redeem(first, "a")).toBeUndefined();
    expect(links.redeem(second, "a")).toBeDefined();
    expect(links.redeem(others.at(-1), "a")).toBeDefined();
  });

  test("can be tried 30 times a minute by a network; others are not affected, and no try uses it up", () => {
    const { clock, links } = linksAt();
    for (let tries = 0; tries < 30; tries++) expect(links.redeem("x", "a")).toBeUndefined();
    clock.ms = 15_000;
    const code = links.issue();
    expect(links.redeem(code, "a")).toEqual({ retryAfter: 45 });
    expect(links.redeem(code, "b")).toMatchObject({ token: expect.any(String) });
  });
});

test("a page stays unlocked for 12 hours; a code is no token of a page", () => {
  const { clock, links } = linksAt();
  const code = links.issue();
  expect(links.isPage(`Bearer ${code}`)).toBe(false);
  const redeemed = links.redeem(code, "a");
  const token = redeemed !== undefined && "token" in redeemed ? redeemed.token : "";
  clock.ms = 12 * HOUR - 1;
  expect([links.isPage(`Bearer ${token}`), links.isPage(undefined)]).toEqual([true, false]);
  clock.ms = 12 * HOUR;
  expect(links.isPage(`Bearer ${token}`)).toBe(false);
});

describe("at the listener", () => {
  async function listener(more: Partial<AdminListenerOptions>) {
    const acted: string[] = [];
    const admin = createAdminListener({
      ...{ host: "127.0.0.1", port: 0, logger: SILENT, ownerToken: OWNER },
      metrics: { text: async () => "" },
      readiness: () => ({ ready: true, reasons: [] }),
      pages: async () => [],
      actions: { kinds: OPERATOR_ACTIONS, act: async (_, target) => void acted.push(target) },
      ...more,
    });
    const { url } = await admin.start();
    onTestFinished(() => admin.stop());
    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const sent = await fetch(`${url}/api/v1/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: sent.status, body: (await sent.json()) as Readonly<Record<string, string>> };
    };
    return { url, post, acted };
  }
  const bearer = (token = "") => ({ authorization: `Bearer ${token}` });

  test.each([
    ["with listen.admin.token", { token: "the-token-of-the-config" }],
    ["without listen.admin.token", {}],
  ])("the token of a page reads and acts, and makes no further link (%s)", async (_, more) => {
    const { url, post, acted } = await listener(more);
    const link = await post("console/link", {}, bearer(OWNER));
    expect(link).toEqual({ status: 200, body: { code: expect.any(String), expiresIn: 60 } });
    const { body, status } = await post("console/unlock", { code: link.body.code });
    expect([status, body]).toEqual([200, { token: expect.any(String) }]);
    expect(body.token).not.toBe(OWNER);
    expect((await fetch(`${url}/api/v1`, { headers: bearer(body.token) })).status).toBe(200);
    expect((await post("servers/files/restart", {}, bearer(body.token))).status).toBe(200);
    expect(acted).toEqual(["files"]);
    expect((await post("console/link", {}, bearer(body.token))).status).toBe(401);
    expect(await post("console/unlock", { code: link.body.code })).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining("does not unlock the console") },
    });
  });

  test.each([
    ["a link without a token", "console/link", {}, {}, 401],
    [
      "a link for a page of another site",
      "console/link",
      {},
      { ...bearer(OWNER), origin: "http://evil.example" },
      403,
    ],
    ["a made-up code", "console/unlock", { code: "A".repeat(43) }, {}, 403],
    [
      "a code from a page of another site",
      "console/unlock",
      { code: "" },
      { origin: "http://evil.example" },
      403,
    ],
    ["a code that is no JSON", "console/unlock", {}, { "content-type": "text/plain" }, 415],
    ["a long code", "console/unlock", { code: "A".repeat(2_000) }, {}, 413],
  ])("%s is refused", async (_, path, body, headers, status) => {
    const { post } = await listener({});
    expect((await post(path, body, headers as Record<string, string>)).status).toBe(status);
  });

  test("the 31st attempt of a minute is refused with the time of the next one", async () => {
    const { post } = await listener({});
    const statuses: number[] = [];
    for (let tries = 0; tries < 31; tries++) statuses.push((await post("console/unlock", {})).status);
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 403), 429]);
  });
});
