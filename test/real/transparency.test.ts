/** What real servers say and answer reaches every kind of host unchanged except names and URIs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, writeConfig } from "../support/cardea.js";
import { metGateway } from "../support/met-gateway.js";
import {
  type Host,
  type HostKind,
  type Json,
  LISTS,
  type List,
  type Outcome,
  type Place,
  whenListed,
} from "../support/peers/host.js";
import { RAW_LEGACY, RAW_MODERN } from "../support/peers/raw.js";
import { SDK_1, SDK_2_LEGACY, SDK_2_MODERN } from "../support/peers/sdk.js";
import { eachValue, sample, TAKES_ALL } from "../support/sample.js";
import { until } from "../support/until.js";
import {
  exposeItem,
  exposeOutcome,
  exposeUse,
  prefixed,
  steady,
  withoutModernFrame,
  withoutTasks,
} from "./exposure.js";
import { type RealServer, realServers, type Use } from "./servers.js";

const KINDS: readonly { readonly through: HostKind; readonly direct: HostKind }[] = [
  { through: SDK_1, direct: SDK_1 },
  { through: SDK_2_LEGACY, direct: SDK_2_LEGACY },
  { through: RAW_LEGACY, direct: RAW_LEGACY },
  // The three servers are legacy ones: a modern host cannot speak to them without a gateway.
  { through: SDK_2_MODERN, direct: SDK_2_LEGACY },
  { through: RAW_MODERN, direct: RAW_LEGACY },
];
const ALL_LISTS = Object.keys(LISTS) as readonly List[];

const folder = mkdtempSync(join(tmpdir(), "cardea-real-"));
const servers = realServers(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const reset = (): void => {
  for (const server of servers) server.reset();
};
const config = {
  mcpServers: Object.fromEntries(servers.map(({ name, place }) => [name, place])),
};

/** What one server lists and answers to one host. */
interface Account {
  readonly lists: Readonly<Record<List, readonly Json[]>>;
  readonly outcomes: readonly Outcome[];
}

async function listsOf(host: Host): Promise<Account["lists"]> {
  const lists: Partial<Record<List, readonly Json[]>> = {};
  for (const list of ALL_LISTS) lists[list] = await host.list(list);
  return lists as Account["lists"];
}

async function outcomesOf(host: Host, uses: readonly Use[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  // One after the other: what a later use sees is what the earlier ones have done.
  for (const use of uses) outcomes.push(await host.request(use.method, use.params));
  return outcomes;
}

const accountsOf = new Map<HostKind, Promise<ReadonlyMap<RealServer, Account>>>();

/** What the servers list and answer to such a host without a gateway; asked once for each kind. */
function directly(kind: HostKind): Promise<ReadonlyMap<RealServer, Account>> {
  const known = accountsOf.get(kind) ?? askDirectly(kind);
  accountsOf.set(kind, known);
  return known;
}

async function askDirectly(kind: HostKind): Promise<ReadonlyMap<RealServer, Account>> {
  reset();
  const taken = servers.map(async (server) => {
    const host = await kind.connect(server.place);
    const account = { lists: await listsOf(host), outcomes: await outcomesOf(host, server.uses) };
    await host.close();
    return [server, account] as const;
  });
  return new Map(await Promise.all(taken));
}

/** One of each era: one through /mcp, the other over a pipe. */
const DRAWN = eachValue("transparency", KINDS, ({ through }) => [through.era]);
const OVER_A_PIPE = sample("transparency over a pipe", DRAWN, 1);

/** Runs `act` with a place where a fresh gateway is to be reached. */
type Way = (act: (place: Place) => Promise<void>) => Promise<void>;

const WAYS: Readonly<Record<string, Way>> = {
  "/mcp": async (act) => {
    const gateway = await metGateway(config);
    try {
      await act({ url: gateway.url });
    } finally {
      await gateway.stop();
    }
  },
  "cardea stdio": async (act) => {
    const { file, remove } = writeConfig(config);
    try {
      await act({ command: process.execPath, args: [MAIN, "stdio", "--config", file] });
    } finally {
      await remove();
    }
  },
};

describe.each(DRAWN)("a host built with $through.name", (drawn) => {
  const { through, direct: kind } = drawn;
  const ways = Object.keys(WAYS).filter(
    (way) => TAKES_ALL || (way === "/mcp") !== OVER_A_PIPE.includes(drawn),
  );
  let expected: ReadonlyMap<RealServer, Account>;
  beforeAll(async () => {
    expected = await directly(kind);
  });

  test("is tested with every tool, prompt and resource of the servers", () => {
    for (const [server, { lists }] of expected) {
      const used = new Set<unknown>([
        ...server.uses.map(({ params }) => params.name ?? params.uri),
        ...server.elsewhere,
      ]);
      const unused = [...lists.tools, ...lists.prompts, ...lists.resources]
        .map((item) => item.uri ?? item.name)
        .filter((name) => !used.has(name));
      expect(unused, server.name).toEqual([]);
    }
  });

  test.each(ways)("gets the same lists and results through %s as directly", async (way) => {
    reset();
    await WAYS[way]?.(async (place) => {
      const host = await through.connect(place);
      try {
        await whenListed(host, ...servers.map(({ name }) => `${name}__${toolOf(name)}`));
        await compareLists(host, through.era, expected);
        for (const [server, account] of expected) await compareUses(host, through.era, server, account);
      } finally {
        await host.close();
      }
    });
  });
});

/** One tool of a server, to know it by. */
const toolOf = (server: string): string =>
  String(
    servers.find(({ name }) => name === server)?.uses.find(({ method }) => method === "tools/call")?.params
      .name,
  );

async function compareLists(host: Host, era: HostKind["era"], expected: ReadonlyMap<RealServer, Account>) {
  for (const list of ALL_LISTS) {
    const merged = [...expected].flatMap(([server, account]) =>
      account.lists[list].map((item) => exposeItem(list, item, prefixed(server.name))),
    );
    // On a pipe there is no signal that the servers have started; their lists come one by one.
    const listed = await until(`the list of ${list}`, async () => {
      // The gateway's own resource is none of a server.
      const items = (await host.list(list)).filter(({ uri }) => uri !== "cardea://servers");
      return items.length >= merged.length && items;
    });
    const shown = era === "modern" ? withoutTasks : (item: Json): Json => item;
    expect(listed.map(shown), list).toEqual(merged.map(shown));
  }
}

async function compareUses(host: Host, era: HostKind["era"], server: RealServer, { outcomes }: Account) {
  const exposure = prefixed(server.name);
  const got = await outcomesOf(
    host,
    server.uses.map((use) => exposeUse(use, exposure)),
  );
  server.uses.forEach((use, index) => {
    const what = `${server.name}: ${use.method} ${JSON.stringify(use.params).slice(0, 120)}`;
    const through = got[index] ?? { result: {} };
    const direct = exposeOutcome(use, outcomes[index] ?? { result: {} }, exposure);
    expect(steady(use, era === "modern" ? withoutModernFrame(through) : through), what).toEqual(
      steady(use, direct),
    );
  });
}
