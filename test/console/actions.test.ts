/** What the buttons of the console do to a running gateway, and the config that it shows. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { hasFeature } from "../support/features.js";
import { hostOf } from "../support/modern-host.js";
import { sample } from "../support/sample.js";
import { type Opened, type Stage, startStage, TOKEN } from "./stage.js";

const LOOKS = [
  [1280, "light"],
  [1280, "dark"],
  [390, "light"],
  [390, "dark"],
] as const;
const looksOf = (action: string) => sample(`looks of ${action}`, LOOKS, 1);

describe.runIf(HAS_BROWSER)("in the console", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  /** A host with a session. */
  async function session(name: string): Promise<Client> {
    const host = new Client({ name, version: "1" });
    onTestFinished(() => host.close());
    await host.connect(new StreamableHTTPClientTransport(new URL(stage.url)) as never);
    return host;
  }

  /** Complete, without overflow, accessible. */
  async function expectSound({ page, errors }: Opened): Promise<void> {
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    expect(errors).toEqual([]);
  }

  /** Presses a button, and the same in the dialog that asks. */
  async function press(opened: Opened, within: Locator, name: string, picture: string): Promise<void> {
    await within.getByRole("button", { name, exact: true }).click();
    const dialog = opened.page.getByRole("dialog");
    await dialog.getByRole("heading", { name: `${name}?` }).waitFor();
    await opened.picture(picture);
    await expectSound(opened);
    await dialog.getByRole("button", { name, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  }

  test.each(looksOf("config"))("the live config has no secrets (%i px, %s)", async (width, scheme) => {
    const opened = await stage.open("config", { width, scheme });
    await opened.page.getByText("no-touching").first().waitFor();
    await opened.picture(`config-${width}-${scheme}`);
    expect(await opened.page.content()).not.toContain(TOKEN);
    await expectSound(opened);
    await opened.page.close();
  });

  test.each(looksOf("session"))("a session is ended (%i px, %s)", async (width, scheme) => {
    const name = `host-${width}-${scheme}`;
    const host = await session(name);
    const opened = await stage.open("sessions", { width, scheme });
    const row = opened.page.getByRole("row", { name: new RegExp(name) });
    await row.waitFor();
    await opened.picture(`session-${width}-${scheme}`);
    await press(opened, row, "End session", `end-session-${width}-${scheme}`);
    await row.waitFor({ state: "detached" });
    await expect(host.listTools()).rejects.toThrow();
    await opened.page.close();
  });

  test.each(looksOf("call"))("a call is cancelled (%i px, %s)", async (width, scheme) => {
    const host = await session(`caller-${width}-${scheme}`);
    const name = "everything__trigger-long-running-operation";
    const outcome = host.callTool({ name, arguments: { duration: 600, steps: 6 } }).then(
      (result) => JSON.stringify(result),
      (error: unknown) => String(error),
    );
    const opened = await stage.open("calls", { width, scheme });
    const row = opened.page
      .getByRole("region", { name: "Calls under way" })
      .getByRole("row", { name: /trigger-long-running-operation/ });
    await row.waitFor();
    await opened.picture(`running-${width}-${scheme}`);
    await press(opened, row, "Cancel call", `cancel-call-${width}-${scheme}`);
    await row.waitFor({ state: "detached" });
    expect(await outcome).toMatch(/cancel/i);
    await opened.page.close();
  });

  test.each(looksOf("approval"))("a remembered approval is revoked (%i px, %s)", async (width, scheme) => {
    const { call } = hostOf(stage.url);
    const asked = await call("everything__get-tiny-image");
    await call("everything__get-tiny-image", asked, { action: "accept" });
    const opened = await stage.open("policy", { width, scheme });
    const table = opened.page.getByRole("region", { name: "Remembered approvals", exact: true });
    const row = table.getByRole("row", { name: /everything__get-tiny-image/ });
    await row.scrollIntoViewIfNeeded();
    await opened.picture(`approval-${width}-${scheme}`);
    await press(opened, row, "Take back", `take-back-${width}-${scheme}`);
    await opened.page.getByText("No approval is remembered.").waitFor();
    expect((await call("everything__get-tiny-image")).inputRequests).toHaveProperty("cardea/approval");
    await opened.page.close();
  });

  test("a server is restarted, with the reason if it does not come back", async () => {
    // A server that no call has needed yet is idle, and has nothing to restart.
    await hostOf(stage.url).call("asking__form");
    const opened = await stage.open("servers/asking");
    const { page } = opened;
    const card = page.getByRole("region", { name: "asking", exact: true });
    await card.getByText("ready").waitFor();
    const [, before] = /Restarts(\d+)/.exec((await card.textContent()) ?? "") ?? [];
    await press(opened, card, "Restart", "restart");
    await card.filter({ hasText: `Restarts${Number(before) + 1}` }).waitFor();
    await card.getByText("ready").waitFor();
    await page.getByRole("link", { name: "broken", exact: true }).click();
    const broken = page.getByRole("region", { name: "broken", exact: true });
    await broken.getByRole("button", { name: "Retry" }).click();
    await broken.getByRole("alert").getByText("it did not come back").waitFor();
    await opened.picture("restart-failed");
    await page.close();
  });

  test.skipIf(!hasFeature("sign-in")).each(looksOf("sign-in"))(
    "a principal is signed out of a server (%i px, %s)",
    async (width, scheme) => {
      const posted: string[] = [];
      const login = { server: "everything", principal: "ann", issuer: "https://login.example.com" };
      const opened = await stage.open("servers/everything", {
        ...{ width, scheme },
        prepare: async (page) => {
          await page.route("**/api/v1/logins", (route) =>
            route.fulfill({
              json: [
                {
                  ...login,
                  scopes: ["read"],
                  state: posted.length === 0 ? "signed_in" : "signed_out",
                  isRenewed: true,
                },
              ],
            }),
          );
          await page.route("**/api/v1/logins/*/*/sign-out", (route) => {
            posted.push(new URL(route.request().url()).pathname);
            return route.fulfill({ json: { state: "signed_out" } });
          });
        },
      });
      const rows = opened.page.getByRole("list", { name: "Sign-ins at everything" });
      await rows.scrollIntoViewIfNeeded();
      await opened.picture(`signed-in-${width}-${scheme}`);
      await press(opened, rows, "Sign out", `sign-out-${width}-${scheme}`);
      await rows.getByRole("button", { name: "Sign in" }).waitFor();
      expect(posted).toEqual(["/api/v1/logins/everything/ann/sign-out"]);
      await opened.page.close();
    },
  );
});
