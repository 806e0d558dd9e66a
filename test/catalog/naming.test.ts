import { describe, expect, test, vi } from "vitest";
import { mergeLists } from "../../src/catalog/merge.js";
import { exposedName, hashedName } from "../../src/catalog/naming.js";
import { serverNamespace } from "../../src/catalog/server-namespace.js";
import { SILENT } from "../../src/core/logger.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import fc from "../support/fast-check.js";
import { catalogOf, names, server, tool } from "./support.js";

const naming = { separator: "__", maxLength: 60 };
const text = fc.string({ unit: "grapheme", maxLength: 80 });

describe("an exposed name", () => {
  test.each([
    ["files", "read", "files__read"],
    ["files", "read.all/now", "files__read_all_now"],
    ["my server", "naïve 😀", "my_server__na_ve__"],
    ["", "read.all/now 😀", "read.all/now 😀"],
    ["", "x".repeat(200), "x".repeat(200)],
    ["s", "x".repeat(57), `s__${"x".repeat(57)}`],
  ])("of %j and %j is %j", (prefix, name, expected) => {
    expect(exposedName(prefix, name, naming)).toBe(expected);
  });

  test("that is too long is cut and ends in a hash of the full name, the same for ever", () => {
    // Fixed since the first release; a change here breaks the prompts and rules of all hosts. printf %s 's__'"$(printf
    // 'x%.0s' $(seq 58))" | sha256sum | cut -c1-10 | xxd -r -p | base32 | tr A-Z a-z
    const exposed = exposedName("s", "x".repeat(58), naming);
    expect(exposed).toBe(`s__${"x".repeat(48)}_zpnrmtp2`);
    expect(exposed).toHaveLength(60);
  });

  test("is what hosts accept, within the limit, and a pure function of its parts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), text, (prefix, name) => {
        const exposed = exposedName(prefix, name, naming);
        expect(exposed).toMatch(/^[A-Za-z0-9_-]{1,60}$/);
        expect(exposedName(prefix, name, { ...naming })).toBe(exposed);
        expect(hashedName(prefix, name, naming, 1)).toMatch(/^[A-Za-z0-9_-]{0,51}_[a-z2-7]{8}$/);
      }),
      { seed: 20261120, numRuns: 2_000 },
    );
  });
});

test("a name that an earlier server has gets a hash ending, which is warned of once", async () => {
  const warned: string[] = [];
  const logger = { ...SILENT, warn: (_: unknown, sentence: string) => void warned.push(sentence) };
  const files = fakeUpstream("files", { lists: { tools: [tool("read"), tool("only")] } });
  const notes = fakeUpstream("notes", { lists: { tools: [tool("read")] } });
  const servers = [server("files", { prefix: "" }), server("notes", { prefix: "" })];
  const catalog = catalogOf([files, notes], { servers, logger });
  await vi.waitFor(() => expect(names(catalog)).toHaveLength(3), { timeout: 60_000 });
  const renamed = names(catalog)[2];
  catalog.view(fakeClient({ capabilities: { roots: {} } })).list("tools");
  expect(warned).toEqual([
    `the tool "read" of server notes is listed as ${renamed}: server files has one of this name; give one of the servers a "prefix"`,
  ]);
});

test("a name that begins like those of another server gets a hash ending, which is warned of", async () => {
  const warned: string[] = [];
  const logger = { ...SILENT, warn: (_: unknown, sentence: string) => void warned.push(sentence) };
  const bare = fakeUpstream("bare", { lists: { tools: [tool("notes__read")] } });
  const notes = fakeUpstream("notes", { lists: { tools: [tool("a.b"), tool("a b")] } });
  const servers = [server("bare", { prefix: "" }), server("notes")];
  const catalog = catalogOf([bare, notes], { servers, logger });
  await vi.waitFor(() => expect(names(catalog)).toHaveLength(3), { timeout: 60_000 });
  expect(warned.toSorted()).toEqual([
    expect.stringMatching(
      /^the tool "a b" of server notes is listed as notes__a_b_\w{8}: another of its names is exposed in the same form; "overrides" can give one of them a "name"$/,
    ),
    expect.stringMatching(
      /^the tool "notes__read" of server bare is listed as notes__read_\w{8}: names that begin with notes__ are those of server notes; give one of the servers another "prefix"$/,
    ),
  ]);
});

describe("the names of a merged list", () => {
  // A small alphabet and short limits, so that names meet all the time.
  const word = fc.string({ unit: fc.constantFrom("a", "b", "_", ".", "/", "é"), maxLength: 6 });
  const servers = fc.uniqueArray(fc.record({ prefix: word, tools: fc.uniqueArray(word, { maxLength: 6 }) }), {
    selector: ({ prefix }) => prefix,
    maxLength: 5,
  });

  test("are unique and lead back to what they were made of, through the map and never by splitting", () => {
    fc.assert(
      fc.property(servers, fc.constantFrom(12, 16, 60), (configs, maxLength) => {
        const merge = () =>
          mergeLists(
            "tools",
            configs.map(({ prefix, tools }, index) => ({
              space: serverNamespace(server(`server${index}`, { prefix })),
              items: tools.map((name) => tool(name)),
            })),
            { separator: "__", maxLength },
          );
        const list = merge();
        const exposed = list.entries.map(({ route }) => route.exposed);
        expect(new Set(exposed).size).toBe(exposed.length);
        expect(exposed).toHaveLength(configs.flatMap(({ tools }) => tools).length);
        for (const [index, { prefix, tools }] of configs.entries()) {
          const own = list.entries.filter(({ route }) => route.upstream === `server${index}`);
          expect(own.map(({ route }) => route.target)).toEqual(tools);
          for (const { route, item } of own) {
            expect(list.find(route.exposed)).toBe(route);
            expect(item.name).toBe(route.exposed);
            if (prefix !== "") expect(route.exposed.length).toBeLessThanOrEqual(maxLength);
          }
        }
        expect(merge().entries.map(({ route }) => route.exposed)).toEqual(exposed);
      }),
      { seed: 20261120, numRuns: 2_000 },
    );
  });

  test("of two that would collide, the later one gets a hash suffix", () => {
    const list = mergeLists(
      "tools",
      [
        { space: serverNamespace(server("one", { prefix: "a" })), items: [tool("b.c"), tool("b/c")] },
        { space: serverNamespace(server("two", { prefix: "" })), items: [tool("a__b_c")] },
      ],
      naming,
    );
    expect(list.entries.map(({ route }) => route.exposed)).toEqual([
      "a__b_c",
      hashedName("a", "b/c", naming, 1),
      hashedName("", "a__b_c", naming, 1),
    ]);
  });

  test("stay apart even where the full names are the same", () => {
    const list = mergeLists(
      "tools",
      [
        { space: serverNamespace(server("one", { prefix: "a" })), items: [tool("b__c__d")] },
        { space: serverNamespace(server("two", { prefix: "a__b" })), items: [tool("c__d")] },
        { space: serverNamespace(server("three", { prefix: "a__b__c" })), items: [tool("d")] },
      ],
      naming,
    );
    expect(new Set(list.entries.map(({ route }) => route.exposed)).size).toBe(3);
  });
});
