/** A link of `cardea console` in a real Chromium: it unlocks the page once, and leaves nothing in the address bar. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { type Stage, startStage, TOKEN } from "./stage.js";

describe.runIf(HAS_BROWSER)("a link to the console", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  async function link(): Promise<string> {
    const sent = await fetch(`${stage.adminUrl}/api/v1/console/link`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: "{}",
    });
    const { code } = (await sent.json()) as { readonly code: string };
    return `${stage.adminUrl}/#unlock=${code}`;
  }
  const tokenIn = (page: Page): Promise<string | null> =>
    page.evaluate('sessionStorage.getItem("cardea-admin-token")');

  test("unlocks the page, whose token is not that of the config; a second time it is refused", async () => {
    const url = await link();
    const { page, errors, picture } = await stage.open("", { token: null });
    await page.goto("about:blank");
    await page.goto(url);
    await page.getByRole("button", { name: "Lock actions" }).waitFor();
    await page.getByText("everything").first().waitFor();
    expect(page.url()).toBe(`${stage.adminUrl}/`);
    expect(await tokenIn(page)).toMatch(/^[\w-]{43}$/);
    expect(await page.evaluate("Object.keys(localStorage)")).not.toContain("cardea-admin-token");
    await picture("link-unlocked");
    expect(await seriousFindings(page)).toEqual([]);
    await page.close();

    const again = await stage.open("", { token: null });
    await again.page.goto("about:blank");
    await again.page.goto(url);
    await again.page.getByRole("heading", { name: "This gateway is locked" }).waitFor();
    await again.page
      .getByRole("alert")
      .getByText(/does not unlock the console: it was used already/)
      .waitFor();
    expect([again.page.url(), await tokenIn(again.page)]).toEqual([`${stage.adminUrl}/`, null]);
    await again.picture("link-used");
    expect(await seriousFindings(again.page)).toEqual([]);
    await again.page.close();
    expect(errors.filter((text) => !text.includes("401"))).toEqual([]);
  });

  test("that is opened in a tab with the console unlocks it there; a made-up one leaves it as it was", async () => {
    const { page } = await stage.open("servers", { token: null });
    await page.getByRole("heading", { name: "This gateway is locked" }).waitFor();
    await page.goto(await link());
    await page.getByRole("button", { name: "Lock actions" }).waitFor();
    const token = await tokenIn(page);
    await page.goto(`${stage.adminUrl}/#unlock=${"A".repeat(43)}`);
    const alert = page.getByRole("alert").filter({ hasText: "does not unlock the console" });
    await alert.waitFor();
    expect([page.url(), await tokenIn(page)]).toEqual([`${stage.adminUrl}/`, token]);
    await alert.getByRole("button", { name: "Close" }).click();
    await alert.waitFor({ state: "detached" });
    await page.close();
  });
});
