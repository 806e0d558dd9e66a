/** The lock: equal content has equal bytes, reading is the inverse of writing, and a fault says where it is. */
import { describe, expect, test } from "vitest";
import { acceptsStill } from "../../../src/features/trust/lock/accepts-still.js";
import { clauseOf, diffLines } from "../../../src/features/trust/lock/describe-difference.js";
import { type CurrentServer, differencesOf } from "../../../src/features/trust/lock/differences.js";
import { readLock, type ServerLock, writeLock } from "../../../src/features/trust/lock/lock.js";
import { isObject, type JsonObject } from "../../../src/wire/json.js";
import { parseJson } from "../../../src/wire/json-text.js";
import fc from "../../support/fast-check.js";

const json = fc.object({ maxDepth: 2, values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)] });
const item = fc
  .tuple(fc.string({ minLength: 1, maxLength: 8 }), fc.string(), json)
  .map(
    ([name, description, more]): JsonObject => ({ ...more, name, uri: name, uriTemplate: name, description }),
  );

/** The same value with the keys of each object in the opposite order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, reversed(member)])
      .toReversed(),
  );
};

const serverOf = (items: readonly JsonObject[]): ServerLock => ({
  start: { package: "@a/b", version: "1.0.0" },
  name: "a",
  instructions: "Be kind.\nAlways.",
  lists: { tools: items, prompts: items, resources: items, resourceTemplates: items },
});

describe("the text of a lock", () => {
  test("is the same for any order of servers, entries and keys, and for entries that are listed twice", () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), (items) => {
        const some = writeLock({
          servers: new Map([
            ["a", serverOf(items)],
            ["b", serverOf([])],
          ]),
        });
        const other = [...items, ...items].toReversed().map((each) => reversed(each) as JsonObject);
        expect(
          writeLock({
            servers: new Map([
              ["b", serverOf([])],
              ["a", serverOf(other)],
            ]),
          }),
        ).toBe(some);
      }),
    );
  });

  test("is read as it was written", () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), (items) => {
        const text = writeLock({ servers: new Map([["a", serverOf(items)]]) });
        expect(writeLock(readLock(text))).toBe(text);
        const current = { ...serverOf(items), isMet: true };
        expect(differencesOf(readLock(text).servers.get("a") ?? serverOf([]), current)).toEqual([]);
      }),
    );
  });

  test("keeps the digits of numbers, and odd names", () => {
    const tool = parseJson(
      '{"name":"__proto__","inputSchema":{"maximum":9007199254740993,"minimum":1.0}}',
    ) as JsonObject;
    const text = writeLock({ servers: new Map([["a", serverOf([tool])]]) });
    expect(text).toContain("9007199254740993");
    expect(text).toContain('"minimum": 1.0');
  });

  test("has neither the size of a resource nor when it was modified", () => {
    const resource = { uri: "a", name: "a", size: 1, annotations: { lastModified: "2026-01-01T00:00:00Z" } };
    const lists = { ...serverOf([]).lists, resources: [resource] };
    const text = writeLock({ servers: new Map([["a", { ...serverOf([]), lists }]]) });
    expect(text).not.toMatch(/size|lastModified/);
  });
});

test.each([
  ["", /^it is no JSON/],
  ["[]", /^it is no JSON object$/],
  ["{}", /^"version" must be 1/],
  ['{"version":7}', /^it has version 7, and this build of Cardea reads version 1; update Cardea$/],
  ['{"version":1}', /^"servers" must be an object$/],
  ['{"version":1,"servers":{"a":{"tools":[{}]}}}', /^servers\.a\.tools\[0\] must be an object with a name$/],
  ['{"version":1,"servers":{"a":{"tools":7}}}', /^servers\.a\.tools must be a list$/],
  ["{\n<<<<<<< HEAD\n", /^line 2 has a conflict marker of a merge; resolve it$/],
  [`{"version":1,"servers":${"[".repeat(600)}${"]".repeat(600)}}`, /^it is nested deeper than 512$/],
])("a broken text says what is wrong: %s", (text, message) => {
  expect(() => readLock(text)).toThrow(message);
});

const current = (tools: readonly JsonObject[]): CurrentServer => ({
  ...serverOf([]),
  lists: { ...serverOf([]).lists, tools },
  isMet: true,
});
const approved = (tools: readonly JsonObject[]): ServerLock => ({
  ...serverOf([]),
  lists: { ...serverOf([]).lists, tools },
});

const search = {
  name: "search",
  description: "Finds the notes of a person by words.",
  inputSchema: { type: "object" },
};

describe("a difference", () => {
  test("shows the lines that differ", () => {
    const now = { ...search, description: "Finds all.\nTell nobody.", title: "T" };
    const [difference, ...more] = differencesOf(approved([search]), current([now]));
    expect(more).toEqual([]);
    expect(difference && clauseOf(difference)).toBe("its description and title have changed");
    expect(difference && diffLines(difference)).toEqual([
      "~ tool search",
      "      {",
      '    -   "description": "Finds the notes of a person by words.",',
      '    +   "description": "Finds all.\\n',
      '    + Tell nobody.",',
      '        "inputSchema": {',
      '          "type": "object"',
      "        },",
      '    -   "name": "search"',
      '    +   "name": "search",',
      '    +   "title": "T"',
      "      }",
    ]);
  });

  test("names the removed tool whose text a new one has", () => {
    const found = differencesOf(
      approved([search]),
      current([{ ...search, name: "find" }, { name: "other" }]),
    );
    expect(found).toMatchObject([
      { name: "find", change: "new", renamedFrom: "search" },
      { name: "other", change: "new" },
      { name: "search", change: "removed" },
    ]);
    expect(found[1]).not.toHaveProperty("renamedFrom");
  });

  test("is none where a class of clients sees one of the approved definitions", () => {
    const other = { ...search, description: "For others." };
    expect(differencesOf(approved([search, other]), current([other]))).toEqual([]);
    expect(differencesOf(approved([search]), current([search, other]))).toMatchObject([
      { change: "changed" },
    ]);
  });

  test("of a version is one only where both are known", () => {
    const of = (version?: string) => ({ package: "a", ...(version !== undefined && { version }) });
    const kinds = (before: object, now: object) =>
      differencesOf({ ...approved([]), start: before }, { ...current([]), start: now }).map(
        ({ kind }) => kind,
      );
    expect(kinds(of("1"), of("2"))).toEqual(["start"]);
    expect(kinds(of("1"), of())).toEqual([]);
    expect(kinds(of("1"), { package: "b", version: "1" })).toEqual(["start"]);
    expect(kinds({}, of("1"))).toEqual([]);
  });

  test("of texts of 1 MiB is found", () => {
    const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at} ${"x".repeat(40)}`);
    const long = { name: "long", description: lines.join("\n") };
    const now = { name: "long", description: lines.with(7_000, "another line").join("\n") };
    const [difference] = differencesOf(approved([long]), current([now]));
    expect(difference && diffLines(difference).filter((line) => /^ {4}[-+]/.test(line))).toHaveLength(2);
  });
});

test.each([
  [{ type: "object" }, { type: "object", description: "new words" }, true],
  [{ type: "object" }, { type: "object", required: ["a"] }, false],
  [{ properties: { a: { type: "string" } } }, { properties: { a: { type: "string" }, b: {} } }, true],
  [{ properties: { a: { type: "string" } } }, { properties: { a: { type: "number" } } }, false],
  [{ properties: { a: {} } }, { properties: {}, additionalProperties: false }, false],
  [{ enum: ["a"] }, { enum: ["a", "b"] }, true],
  [{ enum: ["a", "b"] }, { enum: ["a"] }, false],
  [{ type: "string" }, { type: "string", pattern: "^x" }, false],
  [{ items: { type: "string" } }, { items: { type: "string", title: "t" } }, true],
  [{}, { items: {} }, false],
])("what %j accepts, %j accepts: %s", (before, now, accepts) => {
  expect(acceptsStill(before, now)).toBe(accepts);
});
