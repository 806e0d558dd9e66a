/** One gateway with servers that ask and servers that fail, and one browser in front of its console. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Gateway } from "../../src/gateway/gateway.js";
import { startBrowser } from "../support/browser.js";
import { inRepository } from "../support/cardea.js";
import { gatewayOf, listening } from "../support/gateway.js";
import { TAKES_ALL } from "../support/sample.js";
import { type Scripted, startUpstream } from "../support/scripted/upstreams.js";

export const TOKEN = "the-token-of-the-stage";
/** Where the screenshots go. */
const PICTURES = inRepository(".cache/console");

export interface Stage {
  readonly adminUrl: string;
  /** The URL for hosts. */
  readonly url: string;
  /** Opens a view, with the token in the tab; its errors are in `errors`. */
  open(view: string, options?: OpenOptions): Promise<Opened>;
  stop(): Promise<void>;
}

interface OpenOptions {
  readonly width?: number;
  readonly scheme?: "light" | "dark";
  /** Default: the right one. `null` for none. */
  readonly token?: string | null;
  /** Prepares the page before it is loaded. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

export interface Opened {
  readonly page: Page;
  /** What the page logged as an error or threw. */
  readonly errors: readonly string[];
  /** Writes a screenshot for people to look at, in `npm run test:all`. */
  picture(name: string): Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const asking: Scripted = await startUpstream({
    key: "asking",
    name: "a modern server on a pipe",
    era: "modern",
    transport: "stdio",
  });
  const node = process.execPath;
  const state = mkdtempSync(join(tmpdir(), "cardea-stage-"));
  const file = {
    listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
    mcpServers: {
      asking: asking.entry,
      everything: {
        command: node,
        args: [inRepository("node_modules/@modelcontextprotocol/server-everything/dist/index.js")],
      },
      markup: { command: node, args: [inRepository("test/support/servers/markup.mjs")] },
      broken: { command: node, args: ["-e", "console.error('no database here'); process.exit(3)"] },
    },
    policy: {
      rules: [
        { name: "no-touching", tools: ["asking__touch"], effect: "deny" },
        { name: "ask-a-person", tools: ["asking__echo"], effect: "approve" },
        { name: "ask-once", tools: ["everything__get-tiny-image"], effect: "approve", remember: "1h" },
        {
          name: "two-eyes",
          tools: ["everything__get-annotated-message"],
          effect: "approve",
          approvers: ["group:leads"],
        },
        { name: "never-there", tools: ["everything__gte-sum"], when: "args.a > 3", effect: "deny" },
      ],
    },
    limits: [{ name: "rarely", tools: ["everything__gte-sum"], rate: "5/min", per: "principal" }],
  };
  const gateway: Gateway = await gatewayOf(file, {}, state);
  const { url, adminUrl } = await listening(gateway);
  const browser: Browser = await startBrowser();
  mkdirSync(PICTURES, { recursive: true });

  return {
    url,
    adminUrl,
    async open(view, { width = 1280, scheme = "light", token = TOKEN, prepare } = {}) {
      const page = await browser.newPage({
        viewport: { width, height: 850 },
        colorScheme: scheme,
        locale: "en-GB",
        reducedMotion: "reduce",
      });
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error") errors.push(message.text());
      });
      // A function would be compiled by the test runner, which adds names that the page does not have.
      if (token !== null) {
        await page.addInitScript(`sessionStorage.setItem("cardea-admin-token", ${JSON.stringify(token)})`);
      }
      await prepare?.(page);
      await page.goto(`${adminUrl}/#/${view}`);
      const picture = async (name: string): Promise<void> => {
        if (TAKES_ALL) await page.screenshot({ path: `${PICTURES}/${name}.png` });
      };
      return { page, errors, picture };
    },
    async stop() {
      await browser.close();
      await gateway.stop();
      await asking.stop();
      rmSync(state, { recursive: true, force: true });
    },
  };
}
