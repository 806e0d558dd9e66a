/** Six planted faults, each found from the first screen of the console with at most one click. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway, type Gateway } from "../../src/gateway/gateway.js";
import { HAS_BROWSER, seriousFindings, startBrowser } from "../support/browser.js";
import { inRepository } from "../support/cardea.js";
import { openedFeatures, SECTIONS, testOf } from "../support/features.js";
import { listening } from "../support/gateway.js";
import { hostOf } from "../support/modern-host.js";

/** Seconds; a server is slow above 3. */
const SLOW = { duration: 3.2, steps: 1 };

/** A gateway of a config whose problems do not stop it. */
async function serving(file: object, stateFolder: string): Promise<Gateway> {
  const read = readConfig(JSON.stringify(file), "cardea.json", { env: {}, sections: SECTIONS });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const options = { logger: SILENT, version: "0.0.0-test" };
  return createGateway(read.config, {
    ...options,
    features: await openedFeatures(read.config, { stateFolder }),
  });
}

if (!HAS_BROWSER) console.warn("NOT RUN: the planted faults in the console; there is no Chromium");

describe.runIf(HAS_BROWSER)("from the first screen of the console", () => {
  let gateway: Gateway;
  let browser: Browser;
  let signIn: Server;
  let adminUrl: string;
  let page: Page;

  const state = mkdtempSync(join(tmpdir(), "cardea-faults-"));

  beforeAll(async () => {
    signIn = createServer((_, response) => {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    });
    await new Promise<void>((resolve) => signIn.listen(0, "127.0.0.1", resolve));
    const { port } = signIn.address() as AddressInfo;
    const command = process.execPath;
    const everything = inRepository("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    gateway = await serving(
      {
        listen: { http: { port: 0 }, admin: { port: 0 } },
        mcpServers: {
          dead: { command, args: ["-e", "console.error('no database here'); process.exit(3)"] },
          slow: { command, args: [everything] },
          half: { command, args: [inRepository("test/support/servers/half-failing.mjs")] },
          account: { url: `http://127.0.0.1:${port}/mcp` },
          wrong: { comand: "node" },
        },
        policy: { rules: [{ name: "no-echo", tools: ["slow__echo"], effect: "deny" }] },
      },
      state,
    );
    const started = await listening(gateway);
    adminUrl = started.adminUrl;
    const { call } = hostOf(started.url);
    for (let at = 0; at < 6; at++) await call("half__work");
    await Promise.all(
      Array.from({ length: 6 }, () => call("slow__trigger-long-running-operation", undefined, {}, SLOW)),
    );
    await call("slow__echo").catch(() => {});
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await gateway.stop();
    signIn.close();
    rmSync(state, { recursive: true, force: true });
  });
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1280, height: 850 }, reducedMotion: "reduce" });
    await page.goto(adminUrl);
    return () => page.close();
  });

  const problem = (name: RegExp) => page.getByRole("list", { name: "Problems" }).getByRole("link", { name });

  test("a dead server: why, and when it is tried again", async () => {
    await problem(/dead cannot be reached.*no database here/).click();
    const drawer = page.getByRole("region", { name: "dead", exact: true });
    await drawer.getByText(/Retry does so|started again/).waitFor();
    await drawer.getByRole("button", { name: "Retry" }).waitFor();
    await drawer.getByText("Failing since").waitFor();
  });

  test("a slow server: how long it takes", async () => {
    await problem(/slow is slow.*95 % of 6 calls within 15 min took up to \d+\.\d s/).waitFor();
  });

  test("a server that fails every second call: how often, which calls, and what it wrote", async () => {
    await problem(/half fails often.*3 of 6 calls failed/).click();
    const drawer = page.getByRole("region", { name: "half", exact: true });
    await drawer
      .getByRole("list", { name: "Last failed calls of half" })
      .getByText("half__work")
      .first()
      .waitFor();
    await drawer.getByText("Last lines of stderr").waitFor();
  });

  testOf("sign-in")("a server that is signed out: a button to sign in", async () => {
    const row = page.getByRole("listitem").filter({ hasText: /account needs a sign-in/ });
    await row.getByRole("button", { name: "Sign in" }).waitFor();
  });

  test("a misconfigured server: the key that is wrong", async () => {
    await problem(/wrong is misconfigured.*"comand".*did you mean "command"/).click();
    await page
      .getByRole("region", { name: "wrong", exact: true })
      .getByText("Correct its entry in the config")
      .waitFor();
  });

  testOf("policy")("a rule that blocks: which one, and what it refuses", async () => {
    await problem(/no-echo refuses calls.*slow__echo/).click();
    const row = page
      .getByRole("region", { name: "Rules" })
      .getByRole("row", { name: /no-echo/ })
      .first();
    await row.getByText("deny").waitFor();
    expect(await row.getAttribute("class")).toContain("chosen");
  });

  test("all of them are accessible", async () => {
    await problem(/dead cannot be reached/).waitFor();
    await problem(/half fails often/).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});
