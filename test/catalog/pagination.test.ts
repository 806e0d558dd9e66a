import { describe, expect, test } from "vitest";
import { mergeLists } from "../../src/catalog/merge.js";
import { type Cursor, PAGE_SIZE, readCursor, writeCursor } from "../../src/catalog/pagination.js";
import { serverNamespace } from "../../src/catalog/server-namespace.js";
import { LIST_KINDS } from "../../src/core/lists.js";
import fc from "../support/fast-check.js";
import { server, tool } from "./support.js";

const cursors: fc.Arbitrary<Cursor> = fc.record({
  kind: fc.constantFrom(...LIST_KINDS),
  revision: fc.string(),
  offset: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  after: fc.string({ unit: "grapheme" }),
});

describe("a cursor", () => {
  test("is read as it was written", () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(readCursor(writeCursor(cursor))).toEqual(cursor);
      }),
      { seed: 20261120, numRuns: 2_000 },
    );
  });

  test("that the gateway did not issue is refused", () => {
    const known = writeCursor({ kind: "tools", revision: "r", offset: 1, after: "x" });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json().map(base64url)), (text) => {
        fc.pre(text !== known);
        const read = readCursor(text);
        // Random JSON may be a cursor after all; then it is written just so.
        if (read !== undefined) expect(writeCursor(read)).toBe(text);
      }),
      { seed: 20261120, numRuns: 2_000 },
    );
  });

  test.each([
    "",
    "nonsense",
    base64url("[0]"),
    base64url('[0,"r",0,"x"]'),
    base64url('[0,"r",-1,"x"]'),
    base64url('[0,"r",1.5,"x"]'),
    base64url('[9,"r",1,"x"]'),
    base64url('["__proto__","r",1,"x"]'),
    base64url('[0,"r",1,"x",1]'),
    base64url('[0, "r", 1, "x"]'),
    `${writeCursor({ kind: "tools", revision: "r", offset: 1, after: "x" })}=`,
  ])("is not %j", (text) => {
    expect(readCursor(text)).toBeUndefined();
  });
});

describe("the pages of a list", () => {
  const listOf = (count: number, from = 0) =>
    mergeLists(
      "tools",
      [
        {
          space: serverNamespace(server("s")),
          items: Array.from({ length: count }, (_, index) => tool(`t${from + index}`)),
        },
      ],
      { separator: "__", maxLength: 60 },
    );
  const namesOn = (page: ReturnType<ReturnType<typeof listOf>["page"]>) =>
    (page.object.tools as readonly { name: string }[]).map(({ name }) => name);
  const next = (page: ReturnType<ReturnType<typeof listOf>["page"]>) =>
    readCursor((page.object.nextCursor as string | undefined) ?? "");

  test("hold every item once and in order, and only the last has no cursor", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3 * PAGE_SIZE + 1 }), (count) => {
        const list = listOf(count);
        const seen: string[] = [];
        let page = list.page(undefined);
        for (let pages = 1; ; pages++) {
          seen.push(...namesOn(page));
          const cursor = next(page);
          if (cursor === undefined) break;
          expect(pages).toBeLessThan(5);
          page = list.page(cursor);
        }
        expect(seen).toEqual(list.entries.map(({ route }) => route.exposed));
      }),
      { seed: 20261120, numRuns: 20, examples: [[0], [PAGE_SIZE], [PAGE_SIZE + 1], [2 * PAGE_SIZE]] },
    );
  });

  test("of a list that fits on one are made once and shared", () => {
    const list = listOf(3);
    expect(list.page(undefined)).toBe(list.page(undefined));
    expect(String(list.page(undefined).text)).toBe(JSON.stringify(list.page(undefined).object));
  });

  test("continue after the same item when the list changed in between", () => {
    const cursor = next(listOf(2_500, 10).page(undefined));
    expect(cursor).toBeDefined();
    // Ten items came in front, so that the place lies further back by now.
    expect(namesOn(listOf(2_510, 0).page(cursor))[0]).toBe("s__t1010");
  });

  test("continue at the same offset when that item was removed, and end when the list is shorter", () => {
    const cursor = next(listOf(2_500).page(undefined));
    expect(namesOn(listOf(2_500, 5_000).page(cursor))[0]).toBe("s__t6000");
    const end = listOf(10, 5_000).page(cursor);
    expect(namesOn(end)).toEqual([]);
    expect(end.object.nextCursor).toBeUndefined();
  });

  test("have equal revisions exactly when they show the same", () => {
    expect(listOf(5).revision).toBe(listOf(5).revision);
    expect(listOf(5).revision).not.toBe(listOf(6).revision);
    expect(listOf(1_500).revision).not.toBe(listOf(1_501).revision);
  });
});

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
