/** Tools tried from the page: its MCP client against a gateway with servers that ask. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { type Opened, type Stage, startStage } from "./stage.js";

describe.runIf(HAS_BROWSER)("a tool tried in the console", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  const called = async (tool: string, fill = async (_: Page): Promise<void> => {}): Promise<Opened> => {
    const opened = await stage.open(`tools/${tool}`);
    const call = opened.page.getByRole("button", { name: "Call", exact: true });
    await call.waitFor();
    await fill(opened.page);
    await call.click();
    return opened;
  };
  const resultOf = (page: Page) => page.getByRole("region", { name: "Text of the result" });

  test("shows its result", async () => {
    const { page, errors, picture } = await called("everything__get-sum", async (form) => {
      await form.getByLabel("a number, required").fill("19");
      await form.getByLabel("b number, required").fill("23");
    });
    await resultOf(page).getByText("42").waitFor();
    await picture("try-it");
    expect(await seriousFindings(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.close();
  });

  test("is not called while a required field is empty", async () => {
    const { page } = await called("everything__get-sum");
    await page.getByText("a is required.").waitFor();
    await page.close();
  });

  test("asks an elicitation in a dialog, and continues with the answers", async () => {
    const { page, errors, picture } = await called("asking__form");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Who is at the door?").waitFor();
    await dialog.getByLabel("Name string, required").fill("Berta");
    await picture("question");
    const accept = await dialog.getByRole("button", { name: "Accept" }).boundingBox();
    expect((accept?.y ?? 999) + (accept?.height ?? 0)).toBeLessThan(850);
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Accept" }).click();
    await resultOf(page).getByText('"name":"Berta"').waitFor();
    // Defaults of the schema are sent as they stand in the form.
    await resultOf(page).getByText('"age":7').waitFor();
    expect(errors).toEqual([]);
    await page.close();
  });

  test("is shown if its server lists it only to hosts that support elicitation", async () => {
    const { page, errors } = await called("everything__trigger-elicitation-request");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("String string, required").fill("Berta");
    await dialog.getByRole("button", { name: "Accept" }).click();
    await resultOf(page).getByText("Berta").first().waitFor();
    expect(errors).toEqual([]);
    await page.close();
  });

  test("shows the outcome of a declined elicitation", async () => {
    const { page } = await called("asking__form");
    await page.getByRole("dialog").getByRole("button", { name: "Decline" }).click();
    await resultOf(page).getByText("decline").waitFor();
    await page.close();
  });

  test("shows the address of a page before it is opened", async () => {
    const { page } = await called("asking__url");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("https://example.test/in?a=1").waitFor();
    await dialog.getByRole("button", { name: "Accept" }).click();
    await resultOf(page).getByText("accept").waitFor();
    await page.close();
  });

  test("answers a sampling request with the text of a person", async () => {
    const { page } = await called("asking__sampling");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("What opens what is shut?").waitFor();
    await dialog.getByLabel("Your answer").fill("A hinge.");
    await dialog.getByRole("button", { name: "Answer" }).click();
    await resultOf(page).getByText("A hinge.").waitFor();
    await page.close();
  });

  test("is cancelled when its elicitation is dismissed", async () => {
    const { page } = await called("asking__sampling");
    await page.getByRole("dialog").getByRole("button", { name: "Give up the call" }).click();
    await page.getByText("You gave up the call").waitFor();
    await page.close();
  });

  test("runs after an approval, and is refused by the rules as for every host", async () => {
    const { page } = await called("asking__echo");
    await page.getByRole("dialog").getByRole("button", { name: "Accept" }).click();
    await resultOf(page).waitFor();
    await page.close();
    const denied = await called("asking__touch");
    await denied.page
      .getByText(/no-touching|not allowed|denied/)
      .first()
      .waitFor();
    await denied.page.close();
  });

  test("prompts for the token if the tab has none", async () => {
    const { page } = await stage.open("tools/everything__get-sum", { token: "no longer valid" });
    await page.getByLabel("Token of its admin listener").waitFor();
    await page.close();
  });
});
