/** A real Chromium for tests of pages. */
import { readFileSync } from "node:fs";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as driver, type Page } from "playwright-core";
import { inRepository } from "./cardea.js";

/** Whether there is a Chromium for this machine: the one of npm, or the one that `CARDEA_CHROMIUM` names. */
export const HAS_BROWSER =
  process.env.CARDEA_CHROMIUM !== undefined || (process.platform === "linux" && process.arch === "x64");

/** Starts it. Its own arguments are not used: they turn off what protects pages from each other. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CARDEA_CHROMIUM ?? (await chromium.executablePath());
  return driver.launch({ executablePath, args: ["--no-sandbox"] });
}

/** What axe-core finds on the page that keeps people out, as `rule: element`. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(readFileSync(inRepository("node_modules/axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
  });
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact?: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}
