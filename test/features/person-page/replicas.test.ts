/** Several processes behind one address without affinity: a session that began at one of them holds at each. */
import { describe, expect, onTestFinished } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { untilUp } from "../../../src/core/shared-store.js";
import { openStore } from "../../../src/features/cluster/store.js";
import { openedFeatures, testOf } from "../../support/features.js";
import { hasRedis, PATIENT, startRedis } from "../../support/redis.js";
import { roundRobin } from "../../support/round-robin.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { freePort } from "../../support/told-port.js";
import { memoryStore, startReplica } from "../cluster/replicas.js";
import { stateFolder } from "../vault/credentials.js";
import { startTwo } from "../workers/two-workers.js";
import { byProxy, companyOf, PAGE, PersonsBrowser } from "./stage.js";

const needed = [PAGE, "sign-in", "vault", "authorization-server"];

/** Six pages, which reach each of two processes. */
const PAGES = 6;

const isAlice = ({ text }: { readonly text: string }): boolean =>
  text.includes("Signed in as <strong>alice</strong>");

async function expectOneSession(browser: PersonsBrowser, page: string): Promise<void> {
  await browser.signIn(page, "alice");
  const copy = new PersonsBrowser(browser.reach);
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
  for (let at = 0; at < PAGES; at += 1) {
    const shown = await browser.open(page);
    expect([at, isAlice(shown), shown.text.includes("wiki__read")]).toEqual([at, true, true]);
  }
  await browser.press(page, { action: "sign-out" });
  for (let at = 0; at < PAGES; at += 1) expect([at, isAlice(await copy.open(page))]).toEqual([at, false]);
}

async function wikiServer(): Promise<object> {
  const wiki = await recordingServer("wiki", "modern", { tools: ["read"] }, () => {});
  onTestFinished(() => wiki.close());
  return { wiki: { type: "http", url: wiki.url } };
}

testOf(...needed, "workers")(
  "two workers: the session holds and ends in both",
  async () => {
    const port = await freePort();
    const page = `http://127.0.0.1:${port}/`;
    const config = { auth: await companyOf(page), mcpServers: await wikiServer() };
    const ends = (end: () => Promise<unknown>): void => onTestFinished(async () => void (await end()));
    const process = startTwo(ends, config, String(port));
    await process.says(/ready: http:\S+/);
    await expectOneSession(new PersonsBrowser(byProxy([new URL(page).origin])), page);
  },
  60_000,
);

describe.runIf(hasRedis)("two replicas behind a balancer without affinity", () => {
  const test = testOf(...needed, "cluster");

  test("share the session by their store and key", async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const urls: string[] = [];
    const balancer = await roundRobin(() => urls);
    onTestFinished(() => balancer.close());
    const { origin } = new URL(balancer.url);
    const file = {
      listen: { http: { port: 0, publicUrl: origin }, admin: { port: 0 } },
      credentials: { key: Buffer.alloc(32, 7).toString("base64") },
      auth: await companyOf(`${origin}/`),
      mcpServers: await wikiServer(),
    };
    for (let at = 0; at < 2; at += 1) {
      const store = await openStore({
        ...{ config: { url: redis.url, prefix: "pages" }, logger: SILENT },
        ...PATIENT,
      });
      expect(await untilUp(store, 60_000)).toBe(true);
      urls.push(await replica(store, file, async () => store.close()));
    }
    const browser = new PersonsBrowser(byProxy([origin]));
    const { text } = await browser.open(`${origin}/`);
    expect(text).not.toContain("may not share");
    await expectOneSession(browser, `${origin}/`);
  });
});

testOf(...needed, "cluster")("replicas without a common key say what is needed", async () => {
  const store = memoryStore();
  const publicUrl = "https://mcp.example.test";
  const file = {
    listen: { http: { port: 0, publicUrl }, admin: { port: 0 } },
    auth: await companyOf(`${publicUrl}/`),
    mcpServers: await wikiServer(),
  };
  const urls = [await replica(store.view(), file), await replica(store.view(), file)];
  const origins = urls.map((url) => new URL(url).origin);
  const browser = new PersonsBrowser(byProxy(origins, { host: "mcp.example.test" }));
  const { text } = await browser.open(`${publicUrl}/`);
  expect(text).toContain("may not share sign-ins");
  expect(text).toContain("<code>credentials.key</code>");
  // It begins at one of them, and ends at the other.
  const { location } = await browser.press(`${publicUrl}/`, { action: "sign-in" });
  const state = new URL(location).searchParams.get("state") ?? "";
  const ended = await browser.open(`${publicUrl}/oauth/authorize/callback?state=${state}&code=x`);
  expect(ended.status).toBe(400);
  expect(ended.text).toContain("one store and one &quot;credentials.key&quot;");
});

/** Starts one; resolves to its URL. */
async function replica(
  store: Parameters<typeof startReplica>[0],
  file: object,
  after: () => Promise<void> = async () => {},
): Promise<string> {
  const features = await openedFeatures({ features: {} }, { stateFolder: stateFolder(), servesHosts: true });
  const started = await startReplica(store, file, {}, { features });
  onTestFinished(async () => {
    await started.gateway.stop({ immediate: true });
    await after();
  });
  return started.url;
}
