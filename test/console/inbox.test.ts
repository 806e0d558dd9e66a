/** An approval of another person's call is decided in the inbox of the console. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { testOf } from "../support/features.js";
import { sample } from "../support/sample.js";
import { type Stage, startStage } from "./stage.js";

const LOOKS = [
  [1280, "light"],
  [390, "dark"],
] as const;

describe.runIf(HAS_BROWSER)("in the inbox", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  /** The text of the reply to a call that waits, once it is decided. */
  async function callThatWaits(): Promise<{ readonly reply: Promise<string> }> {
    const host = new Client({ name: "desk", version: "3" });
    onTestFinished(() => host.close());
    await host.connect(new StreamableHTTPClientTransport(new URL(stage.url)) as never);
    const call = host.callTool({
      name: "everything__get-annotated-message",
      arguments: { messageType: "error" },
    });
    return { reply: call.then((result) => JSON.stringify(result)) };
  }

  testOf("policy").each(sample("looks of the inbox", LOOKS, 1))(
    "a call that waits is shown, and runs or is refused as decided there (%i px, %s)",
    async (width, scheme) => {
      const { page, errors, picture } = await stage.open("inbox", { width, scheme });
      await page.getByText("Nothing waits for you.").waitFor();
      for (const decision of ["Accept", "Decline"]) {
        const { reply } = await callThatWaits();
        const card = page.getByRole("region", {
          name: "Approval needed: everything__get-annotated-message",
        });
        await card.waitFor();
        for (const shown of ["anonymous", "desk 3", "two-eyes", "messageType"])
          await card.getByText(shown).first().waitFor();
        await picture(`inbox-${decision}-${width}-${scheme}`);
        expect(await seriousFindings(page)).toEqual([]);
        await card.getByRole("button", { name: decision, exact: true }).click();
        expect(await reply).toContain(
          decision === "Accept" ? "Error: Operation failed" : "an approver declined",
        );
        await card.waitFor({ state: "detached" });
      }
      await page.getByText("Nothing waits for you.").waitFor();
      expect(errors).toEqual([]);
      await page.close();
    },
  );
});
