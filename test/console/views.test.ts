/** The console in a real browser, in front of a gateway with real servers. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { sample } from "../support/sample.js";
import { type Stage, startStage, TOKEN } from "./stage.js";

/** Views that each gateway has, and a text that only they show. */
const VIEWS = [
  ["overview", "broken cannot be reached"],
  ["servers", "4 servers"],
  ["tools/everything__get-sum", "Returns the sum of two numbers"],
  ["policy", "Explain a call"],
  ["inbox", "Nothing waits for you."],
  ["sessions", "Connected hosts"],
] as const;

/** Each view, in one of its looks. */
const LOOKS = VIEWS.flatMap(([view, words]) => {
  const looks = (["a wide window", "a phone"] as const).flatMap((width) =>
    (["light", "dark"] as const).map((scheme) => [view, width, scheme, words] as const),
  );
  return sample(`looks of ${view}`, looks, 1);
});

describe.runIf(HAS_BROWSER)("the console", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  test.each(LOOKS)(
    "%s renders completely in %s in the %s theme, and is accessible",
    async (view, window, scheme, words) => {
      const width = window === "a phone" ? 390 : 1280;
      const { page, errors, picture } = await stage.open(view, { width, scheme });
      await page.getByText(words).first().waitFor();
      await picture(`${view.replace("/", "-")}-${width}-${scheme}`);
      expect(await seriousFindings(page)).toEqual([]);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(overflow).toBeLessThanOrEqual(0);
      expect(errors).toEqual([]);
      await page.close();
    },
  );

  test("the overview names broken servers, and links to them", async () => {
    const { page } = await stage.open("overview");
    await page
      .getByRole("list", { name: "Problems" })
      .getByRole("link", { name: /broken cannot be reached/ })
      .click();
    const drawer = page.getByRole("region", { name: "broken", exact: true });
    await drawer.getByText("no database here").first().waitFor();
    await drawer.getByText("Failing since").waitFor();
    expect(await drawer.getByText(/process\.exit/).isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    await page.close();
  });

  test("a number is red only beside a problem, not for a server that still starts", async () => {
    const servers = (from: Page) => from.getByRole("list", { name: "Numbers" }).locator("strong").first();
    const failing = await stage.open("overview");
    await failing.page.getByText("broken cannot be reached").first().waitFor();
    expect(await servers(failing.page).getAttribute("class")).toBe("bad");
    await failing.page.close();
    const starting = await stage.open("overview", {
      prepare: (opened) => opened.route("**/api/v1/problems*", (route) => route.fulfill({ json: [] })),
    });
    await starting.page.getByText("Nothing is wrong: 4 servers.").waitFor();
    expect(await servers(starting.page).textContent()).toBe("3/4");
    expect(await servers(starting.page).getAttribute("class")).toBe("");
    await starting.page.close();
  });

  test("the overview and the tools count alike: for each host, and more for hosts that can be asked", async () => {
    const { page } = await stage.open("overview");
    const tile = page
      .getByRole("list", { name: "Numbers" })
      .getByRole("link", { name: "Tools for each host" });
    const count = (await tile.locator("strong").textContent()) ?? "";
    await tile.click();
    const title = page.getByText(/tools, as hosts see them/);
    const [, all = "", each = "", more = ""] =
      /^(\d+) tools.*: (\d+) for each host, (\d+) more for hosts that can be asked$/.exec(
        (await title.textContent()) ?? "",
      ) ?? [];
    expect([each, Number(all) - Number(more)]).toEqual([count, Number(each)]);
    expect(Number(more)).toBeGreaterThan(0);
    await page.close();
  });

  test("the policy names each rule with its hits, and those that never matched", async () => {
    const { page, errors, picture } = await stage.open("policy");
    const row = page.getByRole("row", { name: /never-there/ });
    await row.getByText("never matched").waitFor();
    expect(await row.getByText("everything__gte-sum").isVisible()).toBe(true);
    const limit = page.getByRole("row", { name: /rarely/ });
    expect(await limit.getByText("5 in 60 s per principal").isVisible()).toBe(true);
    await picture("policy-rules");
    expect(errors).toEqual([]);
    await page.close();
  });

  test("markup from a server is shown as text, in names, schemas and results", async () => {
    const { page, errors, picture } = await stage.open("tools/markup__markup");
    const detail = page.getByRole("region", { name: "markup__markup" });
    await detail.getByText("<img src=x").first().waitFor();
    await page.getByRole("link", { name: /^markup___img_src_x/ }).waitFor();
    await picture("markup");
    await detail.getByRole("tab", { name: "Schema" }).click();
    await detail.getByText("<script>").first().waitFor();
    await detail.getByRole("tab", { name: "Try it" }).click();
    await detail.getByRole("button", { name: "Call" }).click();
    await detail.getByRole("region", { name: "Text of the result" }).getByText("<img src=x").waitFor();
    expect(await page.evaluate("globalThis.broken")).toBeUndefined();
    expect(await page.locator("#console img:not(.logo), #console script").count()).toBe(0);
    expect(errors).toEqual([]);
    await page.close();
  });

  test("a name with markup is shown as text, even if the gateway has not sanitized it", async () => {
    const name = '<img src=x onerror="globalThis.broken=1">';
    const { page } = await stage.open(`tools/${encodeURIComponent(name)}`, {
      prepare: (opened) =>
        opened.route("**/api/v1/lists?*", (route) =>
          route.fulfill({ json: { entries: [{ server: name, item: { name, inputSchema: {} } }] } }),
        ),
    });
    await page.getByRole("heading", { name }).waitFor();
    await page.getByRole("link", { name: `${name} ${name}` }).waitFor();
    expect(await page.evaluate("globalThis.broken")).toBeUndefined();
    await page.close();
  });

  test("without the token nothing is shown; a wrong token is rejected, the right one unlocks the page", async () => {
    const { page, picture } = await stage.open("overview", { token: null });
    const field = page.getByLabel("Token of its admin listener");
    await field.waitFor();
    await picture("door");
    expect(await page.getByText("broken").count()).toBe(0);
    await field.fill("the-wrong-one");
    await page.getByRole("button", { name: "Enter" }).click();
    await page.getByText("That is not the token.").waitFor();
    await field.fill(TOKEN);
    await page.getByRole("button", { name: "Enter" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const kept = await page.evaluate(
      "[sessionStorage.length, document.cookie, JSON.stringify(localStorage)]",
    );
    expect(kept).toEqual([1, "", "{}"]);
    await page.close();
  });

  test("keyboard shortcuts open the views and the search", async () => {
    const { page } = await stage.open("overview");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("4");
    const search = page.getByPlaceholder("Search name or description");
    await search.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("sum of two");
    await page.getByRole("link", { name: "everything__get-sum" }).waitFor();
    expect(await page.getByRole("link", { name: /everything__echo/ }).count()).toBe(0);
    await page.close();
  });

  test("explains a call, with the rule that decides", async () => {
    const { page } = await stage.open("policy");
    await page.getByLabel("Tool, prompt or resource").fill("asking__touch");
    await page.getByRole("button", { name: "Explain" }).click();
    const rules = page.getByRole("region", { name: "Rules" });
    await rules.getByRole("row", { name: /no-touching deny yes, and decides/ }).waitFor();
    await page.close();
  });
});
