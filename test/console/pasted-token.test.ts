/** A person of `auth.jwt` at the console, in a real Chromium: its token is pasted, as the gateway is no client of the issuer. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { HAS_BROWSER, startBrowser } from "../support/browser.js";
import { gatewayOf, listening } from "../support/gateway.js";
import { AUDIENCE, issuer } from "../support/issuer.js";

describe.runIf(HAS_BROWSER)("a person whose token is pasted", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  async function opened(claims: { readonly sub: string; readonly groups: readonly string[] }) {
    const company = await issuer();
    const gateway = await gatewayOf({
      listen: {
        http: { port: 0 },
        admin: { port: 0, access: { viewers: ["group:oncall"], operators: ["group:platform"] } },
      },
      auth: { jwt: { issuer: company.url, audience: AUDIENCE } },
      mcpServers: { broken: { command: process.execPath, args: ["-e", "process.exit(3)"] } },
    });
    const { adminUrl } = await listening(gateway);
    onTestFinished(() => gateway.stop({ immediate: true }));
    const page = await browser.newPage({ viewport: { width: 1280, height: 850 }, reducedMotion: "reduce" });
    onTestFinished(() => page.close());
    await page.goto(adminUrl);
    const field = page.getByLabel("Token of its admin listener");
    await field.fill(await company.token({ ...claims, groups: [...claims.groups] }));
    await field.press("Enter");
    return page;
  }

  test("of the operators is named, and may act", async () => {
    const page = await opened({ sub: "olaf", groups: ["platform"] });
    await page.getByText("Signed in as olaf").waitFor();
    await page.getByRole("list", { name: "Problems" }).getByRole("button", { name: "Retry" }).click();
    await page.getByText("Signed in as olaf").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token of its admin listener").waitFor();
  });

  test("of the viewers reads, and has no button that acts", async () => {
    const page = await opened({ sub: "vera", groups: ["oncall"] });
    await page.getByRole("list", { name: "Problems" }).getByText("broken cannot be reached").waitFor();
    await page.getByText("(may read)").waitFor();
    expect(await page.getByRole("button", { name: "Retry" }).count()).toBe(0);
  });
});
