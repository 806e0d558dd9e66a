/** A server that is away is said to be away at five places, and to be back at all of them, whichever way a host came. */
import { describe, expect, onTestFinished, test } from "vitest";
import { hasFeature } from "../../support/features.js";
import type { Host, HostKind } from "../../support/peers/host.js";
import { openLegacy, openModern } from "../../support/peers/raw.js";
import { SDK_1, SDK_2_LEGACY, SDK_2_MODERN } from "../../support/peers/sdk.js";
import { until } from "../../support/until.js";
import {
  awayServer,
  call,
  instructionsOf,
  opened,
  presentServer,
  rowsFor,
  SERVERS_URI,
  search,
} from "./support.js";

const HOSTS: readonly HostKind[] = [SDK_1, SDK_2_LEGACY, SDK_2_MODERN];
const EXPOSURES = hasFeature("tool-search") ? (["full", "search"] as const) : (["full"] as const);

const REASON = /^it cannot be reached: connection refused/;
const ABSENT = {
  server: "github",
  state: "backoff",
  reason: expect.stringMatching(REASON),
  action: expect.stringContaining("Try again in a minute"),
};

async function hostAt(url: string, kind: HostKind): Promise<Host> {
  const host = await kind.connect({ url });
  onTestFinished(() => host.close());
  return host;
}

/** What a host of each era is notified of; resolved when it would be. */
async function followers(url: string): Promise<readonly (readonly string[])[]> {
  return Promise.all(
    [openLegacy, openModern].map(async (open) => {
      const host = await open({ url });
      const heard: string[] = [];
      const filter = { toolsListChanged: true, resourceSubscriptions: [SERVERS_URI] };
      const stop = await host.follow(filter, ({ method, params }) => {
        heard.push([method, (params as { readonly uri?: string })?.uri].filter(Boolean).join(" "));
      });
      onTestFinished(async () => {
        await stop();
        await host.close();
      });
      return heard;
    }),
  );
}

describe.each(EXPOSURES)("with tools.exposure %s", (exposure) => {
  test("hosts of both eras learn that a server is away, and that it is back", async () => {
    const github = await awayServer("github", ["create_issue"]);
    const files = await presentServer("files", ["read_file"]);
    const tools = exposure === "full" ? {} : { tools: { exposure } };
    const { url } = await opened({ github: github.entry, files }, tools);
    const hosts = await Promise.all(HOSTS.map((kind) => hostAt(url, kind)));
    const heard = await followers(url);

    for (const host of hosts) {
      expect(instructionsOf(host)).toMatch(/- github: it cannot be reached: connection refused/);
      expect(instructionsOf(host)).toContain(SERVERS_URI);
      expect(instructionsOf(host)).not.toContain("- files: it");
      expect((await host.list("resources")).map(({ uri }) => uri)).toEqual([SERVERS_URI]);
      expect(await rowsFor(host)).toEqual([ABSENT, { server: "files", state: "ready" }]);
      expect((await call(host, "github__create_issue")).error).toMatchObject({
        code: -31503,
        message: expect.stringMatching(/server github is not available: .*refused.*Try again in a minute/),
      });
      if (exposure === "full") continue;
      const found = await search(host, "create a github issue");
      expect(found).toMatchObject({ total: 0, unavailable: [ABSENT] });
      expect(found.next).toContain("What is sought may be a tool of github");
    }

    await github.come();
    await until("news of both eras", () =>
      heard.every(
        (news) =>
          news.includes("notifications/tools/list_changed") &&
          news.includes(`notifications/resources/updated ${SERVERS_URI}`),
      ),
    );
    for (const host of [...hosts, await hostAt(url, SDK_1), await hostAt(url, SDK_2_MODERN)]) {
      expect(await rowsFor(host)).toEqual([
        { server: "github", state: "ready" },
        { server: "files", state: "ready" },
      ]);
      expect((await call(host, "github__create_issue")).result).toEqual(
        expect.objectContaining({ content: [] }),
      );
      if (exposure === "full") {
        expect((await host.list("tools")).map(({ name }) => name)).toContain("github__create_issue");
      } else {
        const found = await search(host, "create a github issue");
        expect(found).toMatchObject({ tools: [{ name: "github__create_issue" }] });
        expect(found).not.toHaveProperty("unavailable");
      }
      if (!hosts.includes(host)) expect(instructionsOf(host)).not.toContain("not available");
    }
  });
});
