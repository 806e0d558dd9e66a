/** The console shows how much is kept of the results of each tool, and nothing of their content. */
import { mkdirSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { HAS_BROWSER, seriousFindings, startBrowser } from "../../support/browser.js";
import { inRepository } from "../../support/cardea.js";
import { testOf } from "../../support/features.js";
import { TAKES_ALL } from "../../support/sample.js";
import { call, idOf, opened, readOn } from "./support.js";

const test = testOf("admin");
/** Where the screenshots go, for people to look at, in `npm run test:all`. */
const PICTURES = inRepository(".cache/console");

describe.runIf(HAS_BROWSER)("kept results in the console", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
    mkdirSync(PICTURES, { recursive: true });
  });
  afterAll(() => browser.close());

  test("stand below the plots: how many, how large, and when one was read last", async () => {
    const running = await opened();
    const ann = await running.host({ era: "modern", door: "http" }, "ann");
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, reducedMotion: "reduce" });
    await page.goto(`${running.adminUrl}/#/plots`);
    await page.getByRole("region", { name: "Calls", exact: true }).waitFor();
    const panel = page.locator("section.card").filter({ hasText: "Kept results" });
    expect(await panel.count()).toBe(0);
    const id = idOf(await call(ann, "big__prose"));
    await call(await running.host({ era: "modern", door: "http" }, "bob"), "big__prose");
    await call(ann, "big__log");
    const row = panel.getByRole("row", { name: /big__prose/ });
    await row.getByText("never").waitFor();
    await readOn(ann, id, { limit: 1 });
    await row
      .getByText(/\d\d:\d\d:\d\d/)
      .nth(1)
      .waitFor();
    await panel.getByText(/^3 results, \d+ kB$/).waitFor();
    await row.getByText(/^\d+ kB$/).waitFor();
    expect(await panel.textContent()).not.toContain("quick brown fox");
    for (const [width, scheme] of [
      [1280, "light"],
      [390, "dark"],
    ] as const) {
      await page.setViewportSize({ width, height: 1000 });
      await page.emulateMedia({ colorScheme: scheme });
      if (TAKES_ALL) await panel.screenshot({ path: `${PICTURES}/kept-results-${width}-${scheme}.png` });
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    }
    expect(await seriousFindings(page)).toEqual([]);
    await page.close();
  });
});
