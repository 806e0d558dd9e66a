/** What the console shows of calls of hosts, and what its buttons do. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { sample } from "../support/sample.js";
import { type Stage, startStage } from "./stage.js";

describe.runIf(HAS_BROWSER)("the console, while hosts call", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  const hostCalls = async (name: string, args: object): Promise<void> => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "a-host", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const response = await fetch(stage.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name, arguments: args, _meta },
      }),
    });
    await response.text();
  };

  const looks = [
    [1280, "light"],
    [390, "dark"],
  ] as const;

  test.each(sample("looks of live calls", looks, 1))(
    "shows a call when it ends, with its timing (%i px, %s)",
    async (width, scheme) => {
      const { page, errors, picture } = await stage.open("calls", { width, scheme });
      await page.getByText("live", { exact: true }).waitFor();
      await hostCalls("everything__get-sum", { a: 1, b: 2 });
      const row = page.getByRole("row", { name: /everything__get-sum .*a-host/ }).first();
      // The row leads there as a whole.
      await row.getByText("ok").click();
      await page.getByRole("list", { name: "Where the time went" }).getByText("Upstream").waitFor();
      await picture(`calls-${width}-${scheme}`);
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      expect(errors).toEqual([]);
      await page.close();
    },
  );

  const others = [
    [1280, "dark"],
    [390, "light"],
  ] as const;

  test.each(sample("looks of plots", others, 1))("plots the last hour (%i px, %s)", async (width, scheme) => {
    const { page, errors, picture } = await stage.open("plots", {
      width,
      scheme,
      prepare: (opened) => opened.route("**/api/v1/history*", (route) => route.fulfill({ json: HISTORY })),
    });
    await page.locator(".plot canvas").nth(3).waitFor();
    await picture(`plots-${width}-${scheme}`);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    expect(errors).toEqual([]);
    await page.close();
  });

  test("a tool is disabled after a confirmation, and enabled again", async () => {
    const { page } = await stage.open("tools/everything__echo");
    await page.getByRole("button", { name: "Disable" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("No host sees or calls everything__echo").waitFor();
    await dialog.getByRole("button", { name: "Disable" }).click();
    const disabled = page.getByRole("region", { name: "Disabled until the next reload" });
    await disabled.getByText("everything__echo").waitFor();
    await disabled.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("link", { name: /everything__echo/ }).waitFor();
    await page.close();
  });

  test("a dismissed confirmation has no effect", async () => {
    const { page } = await stage.open("servers/everything");
    const card = page.getByRole("region", { name: "everything", exact: true });
    await card.getByRole("button", { name: "Restart" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Back" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await card.getByRole("alert").count()).toBe(0);
    await page.close();
  });

  test("the overview of a gateway at work", async () => {
    await hostCalls("everything__echo", { message: "hello" });
    await hostCalls("asking__touch", { uri: "memo://one" });
    await hostCalls("everything__get-sum", { a: 3, b: 4 });
    const { page, picture } = await stage.open("overview");
    await page.getByRole("region", { name: "Last calls" }).getByText("everything__get-sum").first().waitFor();
    await picture("overview");
    expect(await seriousFindings(page)).toEqual([]);
    await page.close();
  });
});

/** An hour with a step every 10 s. */
const STEPS = Array.from({ length: 360 }, (_, step) => step);
const HISTORY = {
  step: 10_000,
  at: STEPS.map((step) => 1_795_420_000_000 + step * 10_000),
  calls: STEPS.map((step) => (step % 90 < 8 ? 0 : Math.round(60 + 40 * Math.sin(step / 20)))),
  errors: STEPS.map((step) => (step > 200 && step < 230 ? 9 : 0)),
  p50: STEPS.map((step) => 12 + 4 * Math.sin(step / 15)),
  p95: STEPS.map((step) => 70 + 30 * Math.sin(step / 9)),
  waits: STEPS.map((step) => step % 7),
};
