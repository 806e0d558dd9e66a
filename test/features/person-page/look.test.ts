/** The page in a real browser: widths, colours, and what axe finds. */
import { mkdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test as plain } from "vitest";
import { HAS_BROWSER, seriousFindings, startBrowser } from "../../support/browser.js";
import { inRepository } from "../../support/cardea.js";
import { hasFeature } from "../../support/features.js";
import { sample, TAKES_ALL } from "../../support/sample.js";
import { startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { PAGE, PersonsBrowser, serving, servingPersons } from "./stage.js";

const needed = [PAGE, "policy", "sign-in", "vault", "authorization-server"];
const test = plain.skipIf(!HAS_BROWSER || !needed.every(hasFeature));

/** Where the screenshots go, for people to look at, in `npm run test:all`. */
const PICTURES = inRepository(".cache/person-page");

const ended: (() => Promise<void>)[] = [];
const ends = (end: () => Promise<void>): void => void ended.push(end);
let browser: Browser;
let page: string;
let open: string;
beforeAll(async () => {
  if (!HAS_BROWSER) return;
  const notes = await startRealIssuer();
  ends(() => notes.close());
  ({ page } = await servingPersons({ mcpServers: { notes: { url: notes.mcpUrl } } }, { ends }));
  open = new URL("/", await serving({}, { ends })).href;
  browser = await startBrowser();
  ends(() => browser.close());
  mkdirSync(PICTURES, { recursive: true });
}, 60_000);
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

interface Look {
  readonly width: number;
  readonly scheme: "light" | "dark";
}
const LOOKS: readonly Look[] = [
  { width: 390, scheme: "light" },
  { width: 1280, scheme: "dark" },
  { width: 390, scheme: "dark" },
  { width: 1280, scheme: "light" },
];

/** A tab of its own, which logs no error. */
async function tab({ width, scheme }: Look): Promise<{ readonly page: Page; readonly errors: string[] }> {
  const opened = await browser.newPage({
    ...{ viewport: { width, height: 850 }, colorScheme: scheme },
  });
  const errors: string[] = [];
  opened.on("pageerror", (error) => errors.push(error.message));
  // A browser asks for the icon of each site by itself.
  opened.on("console", (message) => {
    if (message.type() === "error" && !message.location().url.endsWith("/favicon.ico"))
      errors.push(message.text());
  });
  return { page: opened, errors };
}

/** Signs alice in by another browser, whose cookie the page of the gateway gets. */
async function signIn(shown: Page): Promise<void> {
  const other = new PersonsBrowser();
  await other.signIn(page, "alice");
  const cookies = [...other.cookies].map(([name, value]) => ({ name, value, url: page }));
  await shown.context().addCookies(cookies);
  await shown.reload();
}

const overflow = (shown: Page): Promise<number> =>
  shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

async function looksGood(shown: Page, name: string): Promise<void> {
  if (TAKES_ALL) await shown.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
  expect(await overflow(shown)).toBe(0);
  expect(await seriousFindings(shown)).toEqual([]);
}

test.each(sample("looks of the page", LOOKS, 1))(
  "signed out, signed in and with all of it open: $width px, $scheme",
  async (look) => {
    const { page: shown, errors } = await tab(look);
    const name = (state: string): string => `${state}-${look.width}-${look.scheme}`;
    await shown.goto(page);
    await looksGood(shown, name("signed-out"));
    await signIn(shown);
    await shown.getByText("Signed in as").waitFor();
    await looksGood(shown, name("signed-in"));
    await shown.evaluate(
      "for (const each of document.querySelectorAll('details')) { each.name = ''; each.open = true; }",
    );
    await looksGood(shown, name("open"));
    expect(errors).toEqual([]);
    await shown.getByRole("button", { name: "Sign out", exact: true }).click();
    await shown.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    await shown.close();
  },
  60_000,
);

test("without credentials everything is there at once, and a tool's state has a word beside its colour", async () => {
  const { page: shown, errors } = await tab({ width: 390, scheme: "light" });
  await shown.goto(open);
  await shown.locator("summary", { hasText: /^wiki/ }).click();
  expect(await shown.getByText("refused", { exact: true }).isVisible()).toBe(true);
  await looksGood(shown, "anyone-390-light");
  expect(errors).toEqual([]);
  await shown.close();
});
