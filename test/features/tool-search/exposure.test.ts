/** Which of its tools a client's list shows, and when a change of them is a change of the list. */
import { describe, expect, test } from "vitest";
import type { Catalog } from "../../../src/catalog/catalog.js";
import type { Client } from "../../../src/core/client.js";
import { Exposures } from "../../../src/features/tool-search/exposure.js";
import { SearchMetrics } from "../../../src/features/tool-search/metrics.js";
import type { ExposureSettings } from "../../../src/features/tool-search/section.js";
import {
  type FoundTools,
  type ToolQuery,
  ToolSearch,
} from "../../../src/features/tool-search/tool-search.js";
import { searchedLists } from "../../../src/features/tool-search/transform.js";
import { listen, toolsChanged } from "../../catalog/subscribers.js";
import { catalogOf, tool } from "../../catalog/support.js";
import { fakeTime, pass, settle } from "../../support/fake-time.js";
import { type FakeUpstream, fakeClient, fakeUpstream } from "../../support/fake-upstream.js";

fakeTime();

const settings = (over: Partial<ExposureSettings>): ExposureSettings => ({
  exposure: "full",
  pinned: [],
  autoThreshold: 10_000,
  ...over,
});
const search = new ToolSearch();
const listsOf = (tools: ExposureSettings) =>
  searchedLists({
    exposures: new Exposures({ servers: [], features: { tools }, profiles: {} }),
    search,
    metrics: new SearchMetrics(() => undefined),
  });
const findTools = (catalog: Catalog, query: ToolQuery): Promise<FoundTools> =>
  search.find(catalog.toolsOf(fakeClient()), query, catalog);
const OWN = ["find_tools", "call_tool"];
const listed = (catalog: Catalog, client: Client = fakeClient()): readonly unknown[] =>
  catalog.listed(client, "tools").entries.map(({ item }) => item.name);
const host = (name: string): Client => fakeClient({ affinity: name, info: { name, version: "1" } });

async function filesWith(
  tools: readonly object[],
  exposure?: ExposureSettings,
): Promise<{ files: FakeUpstream; catalog: Catalog }> {
  const files = fakeUpstream("files", { lists: { tools: tools as never } });
  const catalog = catalogOf([files], exposure === undefined ? {} : { lists: listsOf(exposure) });
  await settle();
  return { files, catalog };
}

describe("without a setting", () => {
  test("all tools are listed, in the same list that calls use", async () => {
    const { catalog } = await filesWith([tool("read"), tool("write")]);
    expect(catalog.listed(fakeClient(), "tools")).toBe(catalog.view(fakeClient()).list("tools"));
    expect(catalog.ownTool(fakeClient(), "find_tools")).toBeUndefined();
  });
});

describe("with search", () => {
  const searched = settings({ exposure: "search", pinned: ["files__keep_*"] });

  test("the list does not depend on the servers' lists, except pinned tools", async () => {
    const { files, catalog } = await filesWith([tool("read"), tool("keep_me")], searched);
    const { heard } = listen(catalog);
    expect(listed(catalog)).toEqual([...OWN, "files__keep_me"]);
    files.setList("tools", [tool("write"), tool("keep_me")]).listChanged("tools");
    await pass(1_000);
    expect(heard).toEqual([]);
    expect(listed(catalog)).toEqual([...OWN, "files__keep_me"]);
    files.setList("tools", [tool("write")]).listChanged("tools");
    await pass(1_000);
    expect(heard).toEqual([toolsChanged]);
    expect(listed(catalog)).toEqual(OWN);
  });

  test("everything can still be found and called", async () => {
    const { catalog } = await filesWith([tool("read")], searched);
    expect(catalog.view(fakeClient()).find("tools", "files__read")).toMatchObject({ target: "read" });
    const found = await findTools(catalog, { query: "read", limit: 5 });
    expect(found).toMatchObject({ total: 1, entries: [{ item: { name: "files__read" } }] });
  });

  test("a search sees the list as it is after a change", async () => {
    const { files, catalog } = await filesWith([tool("read")], searched);
    files.setList("tools", [tool("write")]).listChanged("tools");
    await pass(1_000);
    const query = { query: "read write", limit: 5 };
    expect((await findTools(catalog, query)).entries).toMatchObject([{ item: { name: "files__write" } }]);
  });

  test("concurrent searches of one list wait for one index, also during list changes", async () => {
    const many = (prefix: string) =>
      Array.from({ length: 2_000 }, (_, at) =>
        tool(`${prefix}_${at}`, { description: `handles ${prefix} ${at}` }),
      );
    const { files, catalog } = await filesWith(many("read"), searched);
    const searches = ["read", "handles", "99"].map((query) => findTools(catalog, { query, limit: 1 }));
    files.setList("tools", many("write")).listChanged("tools");
    await pass(1_000);
    listed(catalog);
    const later = findTools(catalog, { query: "write", limit: 1 });
    await pass(60_000);
    const totals = [...searches, later].map(async (found) => (await found).total);
    expect(await Promise.all(totals)).toEqual([2_000, 2_000, expect.any(Number), 2_000]);
  });

  test("the gateway advertises tools before a server has connected", () => {
    const catalog = catalogOf([], { lists: listsOf(searched) });
    expect(catalog.describe(fakeClient()).capabilities).toMatchObject({ tools: { listChanged: true } });
  });
});

describe("with auto", () => {
  const about = "x".repeat(400);
  const auto = settings({ exposure: "auto", autoThreshold: 150 });

  test("a list above the threshold has two tools, except for hosts that defer definitions themselves", async () => {
    const { catalog } = await filesWith(
      [tool("read", { description: about }), tool("write", { description: about })],
      auto,
    );
    expect(listed(catalog, host("some-host"))).toEqual(OWN);
    expect(listed(catalog)).toEqual(OWN);
    for (const name of ["claude-code", "Claude-Code", "codex-mcp-client"]) {
      expect(listed(catalog, host(name))).toEqual(["files__read", "files__write"]);
    }
    expect(catalog.freshness(fakeClient(), "tools").scope).toBe("private");
  });

  test("a list that grows above it sends list_changed to the affected clients", async () => {
    const { files, catalog } = await filesWith([tool("read", { description: about })], auto);
    expect(listed(catalog)).toEqual(["files__read"]);
    const { heard } = listen(catalog);
    const grown = [tool("read", { description: about }), tool("write", { description: about })];
    files.setList("tools", grown).listChanged("tools");
    await pass(1_000);
    expect(heard).toEqual([toolsChanged]);
    expect(listed(catalog)).toEqual(OWN);
    files.setList("tools", [...grown, tool("more")]).listChanged("tools");
    await pass(1_000);
    expect(heard).toEqual([toolsChanged]);
  });

  test("the search tools can be called whatever the list shows", async () => {
    const { catalog } = await filesWith([tool("read")], auto);
    expect(listed(catalog)).toEqual(["files__read"]);
    expect(catalog.ownTool(fakeClient(), "find_tools")).toMatchObject({ name: "find_tools" });
    expect(catalog.toolEntry(fakeClient(), "call_tool")).toMatchObject({ name: "call_tool" });
  });
});

describe("the instructions", () => {
  const servers = () => [
    fakeUpstream("files", {
      lists: { tools: [tool("read"), tool("write")] },
      instructions: "# Instructions\n\nReads and\nwrites files. Never outside of /srv.",
    }),
    fakeUpstream("git", { lists: { tools: [tool("log")] } }),
  ];
  const instructionsFor = async (exposure: ExposureSettings, client = fakeClient()) => {
    const catalog = catalogOf(servers(), { lists: listsOf(exposure) });
    await settle();
    return catalog.describe(client).instructions;
  };

  test("say a line of each server where tools are searched for", async () => {
    const instructions = (await instructionsFor(settings({ exposure: "search" }))) ?? "";
    expect(instructions.split("\n").slice(2)).toEqual([
      "- files: 2 tools. Reads and writes files.",
      "- git: 1 tool",
    ]);
  });

  test("say the same, and what servers say, to a host that defers definitions itself", async () => {
    const auto = settings({ exposure: "auto", autoThreshold: 0 });
    const instructions = await instructionsFor(auto, host("claude-code"));
    expect(instructions).toContain("- git: 1 tool");
    expect(instructions).toContain("Never outside of /srv.");
    expect(instructions).not.toContain("find_tools");
  });

  test("are those of the servers where all tools are listed", async () => {
    const instructions = await instructionsFor(settings({ exposure: "full" }));
    expect(instructions).toContain("Never outside of /srv.");
    expect(instructions).not.toContain("2 tools");
  });
});
