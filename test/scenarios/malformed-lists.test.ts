/** One server with list entries that no host can read, beside one that is well: hosts see all that can be read. */
import "../features/admin/needed.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../src/gateway/gateway.js";
import { gatewayOf, listening } from "../support/gateway.js";
import { mutationsOf, oddOnes, WHOLE, WHOLE_CAPABILITIES } from "../support/mutations.js";
import { type HostKind, type Json, LISTS, type List } from "../support/peers/host.js";
import { SDK_1, SDK_2_LEGACY, SDK_2_MODERN } from "../support/peers/sdk.js";
import { type ScriptedServer, scriptedServer } from "../support/servers/scripted-http.js";

const HOSTS = [SDK_1, SDK_2_LEGACY, SDK_2_MODERN].map((kind): [string, HostKind] => [kind.name, kind]);
const KEYS = { tools: "name", prompts: "name", resources: "uri", resourceTemplates: "uriTemplate" } as const;
const LAST = {
  tools: "last",
  prompts: "last",
  resources: "memo://last",
  resourceTemplates: "memo://{last}",
} as const;
const ALL = Object.keys(LISTS) as readonly List[];

/** Odd entries, under names of their own where they have one, and one that is well at the end. */
function oddEntries(list: List): readonly unknown[] {
  const odd = mutationsOf(list)
    .filter((_, index) => index === 0 || index % 11 === 10)
    .map(({ entry }, index) => {
      const key = KEYS[list];
      const named = entry as Json | null;
      return typeof named?.[key] === "string" && named[key] !== ""
        ? { ...named, [key]: `${named[key]}${index}` }
        : entry;
    });
  const last = { ...WHOLE[list], name: "last", [KEYS[list]]: LAST[list] };
  return [...odd.slice(0, 1), { ...WHOLE[list], description: null }, ...odd.slice(1), last];
}

const LISTED: Readonly<Record<string, List>> = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/** A server over HTTP whose result of each method is `answer`'s. */
const serverOf = (answer: (method: string, params: Json) => unknown): Promise<ScriptedServer> =>
  scriptedServer(({ method: verb, body }, response) => {
    if (verb !== "POST") return response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(body) as { id?: number; method: string; params?: Json };
    if (id === undefined) return response.writeHead(202).end();
    const result = answer(method, params);
    const outcome =
      result === undefined ? { error: { code: -32601, message: "no such method" } } : { result };
    // Written by hand: JSON can say numbers that JavaScript cannot.
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...outcome }).replaceAll('"$HUGE"', "1e400");
    return response.writeHead(200, { "content-type": "application/json" }).end(text);
  });

/** A list waits for every server, however busy the machine is. */
const PATIENT = { startupWait: "10m" };
const FRESH = { resultType: "complete", ttlMs: 0, cacheScope: "public" };
const about = (era: string, params: Json, capabilities: unknown): Json =>
  era === "legacy"
    ? { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: era, version: "1" } }
    : { ...FRESH, supportedVersions: ["2026-07-28"], capabilities };

const eraServer = (
  era: "legacy" | "modern",
  capabilities: unknown,
  lists: (list: List) => Json,
): Promise<ScriptedServer> =>
  serverOf((method, params) => {
    if (method === (era === "legacy" ? "initialize" : "server/discover"))
      return about(era, params, capabilities);
    const list = LISTED[method];
    return list && { ...(era === "modern" && FRESH), ...lists(list) };
  });

interface Warning {
  readonly facts: Json;
  readonly sentence: string;
}

describe.each(["legacy", "modern"] as const)("a %s server", (era) => {
  const warnings: Warning[] = [];
  let odd: ScriptedServer;
  let well: ScriptedServer;
  let gateway: Gateway;
  let url: string;
  let admin: string;

  beforeAll(async () => {
    odd = await eraServer(era, { tools: {}, prompts: {}, resources: {} }, (list) => ({
      [list]: [
        ...oddEntries(list),
        ...(list === "resources" ? [{ uri: "x:huge", name: "huge", size: "$HUGE" }] : []),
      ],
      nextCursor: 7,
    }));
    well = await eraServer(era, { tools: {}, prompts: {}, resources: {} }, (list) => ({
      [list]: [WHOLE[list]],
    }));
    const config = { mcpServers: { odd: { url: odd.url }, well: { url: well.url } }, ...PATIENT };
    const warn = (facts: unknown, sentence: unknown): void =>
      void warnings.push({ facts: facts as Json, sentence: String(sentence) });
    gateway = await gatewayOf(config, { warn });
    ({ url, adminUrl: admin } = await listening(gateway));
    await gateway.lists("tools");
  });
  afterAll(async () => {
    await gateway.stop({ immediate: true });
    await Promise.all([odd.close(), well.close()]);
  });

  test.each(HOSTS)("with malformed entries hides no valid entry from %s", async (_name, kind) => {
    const host = await kind.connect({ url });
    for (const list of ALL) {
      const names = (await host.list(list)).map((item) => item[KEYS[list]]);
      expect(names).toContain(exposed("well", list, WHOLE[list][KEYS[list]] as string));
      expect(names).toContain(exposed("odd", list, LAST[list]));
      expect(names.length).toBeGreaterThan(5);
    }
    await host.close();
  });

  test("has each omitted entry named once in the log and in /api/v1/servers", async () => {
    const page = (await (await fetch(`${admin}/api/v1/servers`)).json()) as readonly Json[];
    const [first, second] = page.map(({ malformed }) => malformed as readonly Json[]);
    expect(second).toEqual([]);
    expect(first).toContainEqual({
      list: "tools",
      name: "whole",
      member: "description",
      reason: "must be a string, not null",
    });
    expect(first).toContainEqual({
      list: "prompts",
      member: "prompts[0]",
      reason: "must be an object, not null",
    });
    expect(first).toContainEqual({
      list: "resources",
      member: "nextCursor",
      reason: expect.stringContaining("a string"),
    });
    const sentences = warnings.map(({ sentence }) => sentence);
    expect(sentences).toContainEqual(
      expect.stringMatching(
        /^odd has an invalid list entry, which is left out: tools "whole": description must be a string, not null$/,
      ),
    );
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  test("has its valid entries listed unchanged", async () => {
    const whole = { ...WHOLE.tools, name: "well__whole" } as Json;
    const tools = await gateway.lists("tools");
    expect(tools.find(({ item }) => item.name === "well__whole")?.item).toEqual(whole);
  });
});

const exposed = (server: string, list: List, own: string): string =>
  list === "tools" || list === "prompts" ? `${server}__${own}` : `${server}+${own}`;

describe.each(["legacy", "modern"] as const)(
  "with %s servers whose server info and capabilities are malformed",
  (era) => {
    const odd = oddOnes(WHOLE_CAPABILITIES).filter((_, index) => index % 37 === 0);
    let servers: readonly ScriptedServer[];
    let gateway: Gateway;
    let url: string;

    beforeAll(async () => {
      const lists = (list: List): Json => ({ [list]: [WHOLE[list]] });
      servers = await Promise.all(odd.map(({ odd: capabilities }) => eraServer(era, capabilities, lists)));
      const entries = servers.map((server, index) => [`odd-${index}`, { url: server.url }] as const);
      gateway = await gatewayOf({ mcpServers: Object.fromEntries(entries), ...PATIENT });
      ({ url } = (await gateway.start()) as { url: string });
      await gateway.lists("tools");
    });
    afterAll(async () => {
      await gateway.stop({ immediate: true });
      await Promise.all(servers.map((server) => server.close()));
    });

    test.each(HOSTS)("%s is still served, by each of them alone and by all", async (_name, kind) => {
      for (const path of ["", ...odd.map((_, index) => `/odd-${index}`)]) {
        const host = await kind.connect({ url: `${url}${path}` });
        await host.close();
      }
    });
  },
);
