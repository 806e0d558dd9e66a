/** What a person sees in the console without scrolling, with many servers, long names and little room. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BROWSER, seriousFindings } from "../support/browser.js";
import { hasFeature } from "../support/features.js";
import { sample } from "../support/sample.js";
import { type Stage, startStage } from "./stage.js";

/** The rows of 20 servers; the first is down, the second needs a sign-in. */
const SERVERS = Array.from({ length: 20 }, (_, at) => ({
  name: at === 7 ? "customer-relations-of-the-whole-company-and-its-subsidiaries" : `server-${at}`,
  transport: "http",
  state: ["backoff", "needs_sign_in"][at] ?? "ready",
  ...(at < 2 && { lastError: `server-${at} says why` }),
  revisions: ["2025-11-25"],
  required: false,
  circuit: "closed",
  inFlight: 0,
  waiting: 0,
  restarts: 0,
  malformed: [],
  tokens: 0,
}));

/** Rows of calls that end in a minute, so that they stay the last ones. */
const callsAt = (now: number) =>
  ["upstream_unavailable", "ok"].map((outcome, at) => ({
    id: at + 1,
    at: now + 60_000,
    principal: "someone@a-company-with-a-long-name.example",
    host: "a-host-with-a-name 12.34.56",
    method: "tools/call",
    target: "customer-relations-of-the-whole-comp_us6vbpwb",
    server: "customer-relations-of-the-whole-company-and-its-subsidiaries",
    outcome,
    ms: { total: 12_345, queue: 0, policy: 1, upstream: 12_000, input: 0 },
    arguments: '{"id":"a1"}',
    result: '{"content":[{"type":"text","text":"cut he',
  }));

/** An hour in which one step had calls. */
const LONELY = {
  step: 10_000,
  at: Array.from({ length: 360 }, (_, step) => 1_795_420_000_000 + step * 10_000),
  calls: Array.from({ length: 360 }, (_, step) => (step === 180 ? 4 : 0)),
  errors: Array.from({ length: 360 }, (_, step) => (step === 180 ? 4 : 0)),
  p50: Array.from({ length: 360 }, (_, step) => (step === 180 ? 50 : null)),
  p95: Array.from({ length: 360 }, (_, step) => (step === 180 ? 90 : null)),
  waits: Array.from({ length: 360 }, () => 0),
};

/** Evaluated in the page: where the lines to servers end, in px from the top of the window. */
const ENDS_OF_LINES = `[...[...document.querySelectorAll(".lines")].at(-1).querySelectorAll("path")].map((path) => {
  const { x, y } = path.getPointAtLength(path.getTotalLength());
  return new DOMPoint(x, y).matrixTransform(path.getScreenCTM()).y;
})`;
/** Evaluated in the page: how many pixels of the plot of errors are red. */
const RED_PIXELS = `(() => {
  const canvas = document.querySelector("[aria-label=Errors] canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let red = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] > 140 && data[at + 1] < 80 && data[at + 3] > 200) red++;
  }
  return red;
})()`;

const answering = (pages: Readonly<Record<string, unknown>>) => async (page: Page) => {
  for (const [path, json] of Object.entries(pages)) {
    await page.route(`**/api/v1/${path}`, (route) => route.fulfill({ json }));
  }
};

const CALLS = () => answering({ "calls?limit=*": { calls: callsAt(Date.now()) } });

describe.runIf(HAS_BROWSER)("the console", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(() => stage.stop());

  const views: readonly [string, number][] = [
    ["calls", 1280],
    ["calls/1", 1280],
    ["overview", 1280],
    ["calls", 380],
    ["overview", 380],
  ];

  test.each(sample("layouts", views, 1))(
    "%s shows how calls ended, and how long they took, in %i px",
    async (view, width) => {
      const { page, picture } = await stage.open(view, { width, prepare: CALLS() });
      const table = page.getByRole("region", { name: view === "overview" ? "Last calls" : "Calls" }).last();
      await table.getByText("upstream unavailable").first().waitFor();
      await picture(`layout-${view.replace("/", "-")}-${width}`);
      for (const text of ["upstream unavailable", "12.3 s"]) {
        const seen = await table.getByText(text).first().boundingBox();
        const room = await table.boundingBox();
        expect((seen?.x ?? 0) + (seen?.width ?? 0)).toBeLessThanOrEqual((room?.x ?? 0) + (room?.width ?? 0));
      }
      expect(await seriousFindings(page)).toEqual([]);
      await page.close();
    },
  );

  test("arguments are shown as JSON, and what was cut as it is", async () => {
    const { page } = await stage.open("calls/1", { prepare: CALLS() });
    const detail = page.getByRole("region", { name: "Call 1" });
    expect(await detail.getByRole("region", { name: "Arguments" }).textContent()).toBe('{\n  "id": "a1"\n}');
    const result = await detail.getByRole("region", { name: "Result" }).textContent();
    expect(result).toBe('{"content":[{"type":"text","text":"cut he');
    await page.close();
  });

  test.runIf(hasFeature("trust"))(
    "a server's drawer shows what is not approved, with hidden text as escapes, and the command that approves it",
    async () => {
      const trust = { pin: "observe", differences: 1, held: 1, findings: 2 };
      const finding = { kind: "tools", name: "search", severity: "high", pointer: "/description" };
      const page = {
        servers: [
          {
            findings: [
              {
                ...finding,
                rule: "secrecy",
                message: "it asks to keep something from the user",
                excerpt: "do not tell the user",
              },
              {
                ...finding,
                rule: "hidden-text",
                message: "it has control characters",
                excerpt: "Fast.\\u001b[8m",
              },
            ],
            differences: [
              { kind: "tools", name: "search", change: "changed", text: "its description has changed" },
            ],
          },
        ],
      };
      const servers = SERVERS.map((server) => (server.name === "server-2" ? { ...server, trust } : server));
      for (const width of [1280, 390]) {
        const opened = await stage.open("servers/server-2", {
          width,
          prepare: answering({ servers, "trust?server=server-2": page }),
        });
        const drawer = opened.page.getByRole("region", { name: "server-2", exact: true });
        await drawer.getByText("cardea approve server-2").waitFor();
        const rows = drawer.getByRole("list", { name: "Definitions of server-2 that are not approved" });
        await rows.getByText("its description has changed").waitFor();
        expect(await rows.getByRole("listitem").count()).toBe(3);
        expect(await rows.textContent()).toContain("Fast.\\u001b[8m");
        expect(await drawer.getByText("1 definition held").isVisible()).toBe(true);
        expect(await seriousFindings(opened.page)).toEqual([]);
        await opened.picture(`trust-${width}`);
        await opened.page.close();
      }
    },
  );

  test("each line of the picture ends at its server, also where more servers are left out", async () => {
    const { page } = await stage.open("overview", { prepare: answering({ servers: SERVERS }) });
    const picture = page.getByRole("region", { name: "Hosts, gateway and servers" });
    await picture.getByText("12 more servers").waitFor();
    const ends = await page.evaluate<readonly number[]>(ENDS_OF_LINES);
    const servers = await picture.locator(".servers a:not(.ghost)").all();
    expect(ends).toHaveLength(servers.length);
    for (const [at, server] of servers.entries()) {
      const box = await server.boundingBox();
      expect(Math.abs((ends[at] ?? 0) - ((box?.y ?? 0) + (box?.height ?? 0) / 2))).toBeLessThan(3);
    }
    await page.close();
  });

  test("the picture has the rate of calls of each server and host", async () => {
    const { page } = await stage.open("overview", {
      prepare: async (opened) => {
        await CALLS()(opened);
        await answering({ servers: SERVERS })(opened);
      },
    });
    const picture = page.getByRole("region", { name: "Hosts, gateway and servers" });
    await expect.poll(() => picture.getByText("0.2/s").count()).toBe(2);
    await page.close();
  });

  test("servers are found by name and by state; a sign-in that is missing is no error", async () => {
    const { page } = await stage.open("servers", { prepare: answering({ servers: SERVERS }) });
    const rows = page.getByRole("region", { name: "Servers" }).last().locator("tbody tr");
    await rows.first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("subsid");
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByLabel("Search servers").fill("needs sign in");
    await rows.filter({ hasText: "server-1 says why" }).click();
    const drawer = page.getByRole("region", { name: "server-1", exact: true });
    const reason = drawer.getByText("server-1 says why");
    expect(await reason.getAttribute("class")).toContain("warn");
    await page.getByLabel("Search servers").fill("nothing like it");
    await page.getByText("No server matches.").waitFor();
    await page.close();
  });

  test("the drawer of a server stays in sight while its list scrolls, and has the times of stderr", async () => {
    const at = "2026-11-27T10:20:30.000Z";
    const [first, ...others] = SERVERS;
    const servers = [{ ...first, stderr: ["no database"], stderrAt: [at] }, ...others];
    const { page, picture } = await stage.open("servers/server-0", { prepare: answering({ servers }) });
    const drawer = page.getByRole("region", { name: "server-0", exact: true });
    await drawer.getByText(/27 Nov, \d\d:20:30 {2}no database/).waitFor();
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    const box = await drawer.boundingBox();
    expect(box?.y).toBeGreaterThan(0);
    expect(box?.y).toBeLessThan(200);
    await picture("servers-drawer");
    expect(await seriousFindings(page)).toEqual([]);
    await page.close();
  });

  const cards: readonly [number, number][] = [
    [390, 3],
    [1280, 4],
    [1280, 5],
    [1440, 7],
  ];

  test.each(sample("cards", cards, 2))(
    "in %i px no hole is left beside the last of %i cards",
    async (width, count) => {
      const servers = SERVERS.slice(2, 2 + count);
      const { page, picture } = await stage.open("servers", { width, prepare: answering({ servers }) });
      const grid = page.locator(".grid.servers");
      await grid
        .locator(".card")
        .nth(count - 1)
        .waitFor();
      const [room, last] = [await grid.boundingBox(), await grid.locator(".card").last().boundingBox()];
      expect(
        Math.abs((last?.x ?? 0) + (last?.width ?? 0) - (room?.x ?? 0) - (room?.width ?? 0)),
      ).toBeLessThan(2);
      await picture(`cards-${width}-${count}`);
      await page.close();
    },
  );

  test("the key of the search is not drawn over what is typed", async () => {
    const { page } = await stage.open("servers", { prepare: answering({ servers: SERVERS }) });
    await page.locator(".search kbd").waitFor();
    await page.getByLabel("Search servers").fill("server");
    await page.locator(".search kbd").waitFor({ state: "detached" });
    await page.close();
  });

  test("failed calls are shown alone, and a row leads to its call", async () => {
    const { page } = await stage.open("calls", { prepare: CALLS() });
    const rows = page.getByRole("region", { name: "Calls" }).last().locator("tbody tr");
    await page.getByRole("button", { name: "Failed 1" }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await rows.first().getByText("upstream unavailable").click();
    await page.getByRole("region", { name: "Call 1" }).waitFor();
    await page.close();
  });

  test("an approval is decided in the inbox, with what it is about in sight", async () => {
    const posted: string[] = [];
    const now = Date.now();
    const approval = {
      ...{ id: "a/1", tool: "crm__delete", server: "crm", principal: "ann@example.com", host: "a-host 1" },
      ...{ rule: "ask-a-lead", at: now - 130_000, expiresAt: now + 400_000, arguments: '{"id":"c-17"}' },
    };
    const { page, errors, picture } = await stage.open("inbox", {
      prepare: async (opened) => {
        await opened.route("**/api/v1", async (route) => {
          const { pages, actions } = await (await route.fetch()).json();
          const decide = ["accept", "decline"].map((word) => `/api/v1/approvals/:id/${word}`);
          await route.fulfill({ json: { pages, actions: [...actions, ...decide] } });
        });
        await opened.route("**/api/v1/approvals", (route) =>
          route.fulfill({ json: posted.length === 0 ? [approval] : [] }),
        );
        await opened.route("**/api/v1/approvals/*/*", (route) => {
          posted.push(new URL(route.request().url()).pathname);
          return route.fulfill({ json: { done: true } });
        });
      },
    });
    const card = page.getByRole("region", { name: "Approval needed: crm__delete" });
    for (const text of ["ann@example.com", "a-host 1", "ask-a-lead", '"c-17"', "asked 2 min ago"])
      await card.getByText(text).waitFor();
    await picture("approval-open");
    expect(await seriousFindings(page)).toEqual([]);
    await card.getByRole("button", { name: "Accept" }).click();
    await page.getByText("Nothing waits for you.").waitFor();
    expect(posted).toEqual(["/api/v1/approvals/a%2F1/accept"]);
    expect(errors).toEqual([]);
    await page.close();
  });

  test("a browser whose language is no valid tag draws plots", async () => {
    const { page, errors } = await stage.open("plots", {
      prepare: async (opened) => {
        await answering({ "history*": LONELY })(opened);
        await opened.addInitScript(
          `Object.defineProperty(Navigator.prototype, "language", { get: () => "en_US@posix", configurable: true })`,
        );
      },
    });
    await page.getByRole("region", { name: "Errors" }).locator("canvas").waitFor();
    expect(errors).toEqual([]);
    await page.close();
  });

  test("the plots are those of the chosen server and range", async () => {
    const asked: string[] = [];
    const { page } = await stage.open("plots", {
      prepare: (opened) =>
        opened.route("**/api/v1/history*", (route) => {
          asked.push(new URL(route.request().url()).search);
          return route.fulfill({ json: LONELY });
        }),
    });
    await page.getByLabel("Server", { exact: true }).selectOption("everything");
    await expect.poll(() => asked).toContain("?server=everything");
    const range = page.getByRole("button", { name: "10 min" });
    await range.click();
    expect(await range.getAttribute("aria-pressed")).toBe("true");
    await page.close();
  });

  test("the view that is open is seen in the navigation of a phone", async () => {
    const { page } = await stage.open("config", { width: 380 });
    await page.getByRole("heading", { name: "Config in force" }).waitFor();
    const link = await page.locator("nav a[aria-current]").boundingBox();
    expect((link?.x ?? 999) + (link?.width ?? 0)).toBeLessThanOrEqual(380);
    await page.close();
  });

  test("the end of what a server wrote to stderr is seen first", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at}`);
    const servers = [{ ...SERVERS[0], transport: "stdio", stderr: lines }];
    const { page } = await stage.open("servers/server-0", { prepare: answering({ servers }) });
    const box = page.getByRole("region", { name: /^Last lines of stderr/ });
    await box.waitFor();
    const below = await box.evaluate((it) => it.scrollHeight - it.clientHeight - it.scrollTop);
    expect(below).toBeLessThan(3);
    await page.close();
  });

  test("a gateway without calls says where they appear", async () => {
    const { page } = await stage.open("overview", { prepare: answering({ "calls?limit=*": { calls: [] } }) });
    await page.getByRole("region", { name: "Last calls" }).getByText("No call yet.").waitFor();
    await page.close();
  });

  test("a step alone between steps without calls is a point of the plot", async () => {
    const { page, picture } = await stage.open("plots", { prepare: answering({ "history*": LONELY }) });
    await page.getByRole("region", { name: "Errors" }).locator("canvas").waitFor();
    await picture("plots-one-step");
    expect(await page.evaluate<number>(RED_PIXELS)).toBeGreaterThan(4);
    await page.close();
  });
});
