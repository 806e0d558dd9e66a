/** What is known of a server, as a file keeps it: it comes back as it was, and anything else is refused with a reason. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { LIST_KINDS, type ListKind } from "../../../src/core/lists.js";
import type { PersistedList, PersistedServer } from "../../../src/core/persisted-lists.js";
import { decodeListFile, MAX_FILE_BYTES, type Seal } from "../../../src/features/kept-lists/list-file.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { parseJson, writeJson } from "../../../src/wire/json-text.js";
import fc from "../../support/fast-check.js";
import { numberText } from "../../support/number-texts.js";
import { encodedAtOnce } from "./support/list-file.js";

const sealOf =
  (key: string): Seal =>
  (head) =>
    createHmac("sha256", key).update(head);
const SEAL = sealOf("mine");

const encode = (server: PersistedServer, seal = SEAL): string => {
  const file = encodedAtOnce(server, seal);
  if (file === undefined) throw new Error("it is not written");
  return file.text;
};
const decode = (text: string | Uint8Array, seal = SEAL) =>
  decodeListFile(typeof text === "string" ? Buffer.from(text) : text, seal);
/** A file with this body, under a seal that is right. */
const sealed = (body: string, head = "cardea-lists 1 1.2.3"): string =>
  `${head} ${createHmac("sha256", "mine").update(head).update(body).digest("hex")}\n${body}`;
/** What follows the first line. */
const bodyOf = (server: PersistedServer): string => encode(server).split("\n").slice(1).join("\n");
const reasonOf = (text: string | Uint8Array, seal = SEAL): string | undefined => {
  const content = decode(text, seal);
  return content.ok ? undefined : content.reason;
};

/** JSON with numbers in every notation. */
const json = (): fc.Arbitrary<unknown> =>
  fc
    .array(fc.oneof(numberText(), fc.json({ maxDepth: 4 })), { maxLength: 4 })
    .map((texts) => parseJson(`[${texts.join(",")}]`));

const entry: Readonly<Record<ListKind, (name: string, more: unknown) => JsonObject>> = {
  tools: (name, more) => ({ name, inputSchema: { type: "object", properties: {}, "x-more": more } }),
  prompts: (name, more) => ({ name, "x-more": more }),
  resources: (name, more) => ({ name, uri: `file:///${name}`, "x-more": more }),
  resourceTemplates: (name, more) => ({ "x-more": more, uriTemplate: "file:///{path}", name }),
};

const listOf = (kind: ListKind): fc.Arbitrary<PersistedList> =>
  fc.record({
    items: fc.array(
      fc.tuple(fc.string({ unit: "binary" }), json()).map(([name, more]) => entry[kind](name, more)),
      { maxLength: 3 },
    ),
    malformed: fc.array(
      fc.record(
        { list: fc.constant(kind), name: fc.string(), member: fc.string(), reason: fc.string() },
        { requiredKeys: ["list", "member", "reason"] },
      ),
      { maxLength: 2 },
    ),
    freshness: fc.record({ ttlMs: fc.nat(), scope: fc.constantFrom("public" as const, "private" as const) }),
    hasTtl: fc.boolean(),
    fetchedAt: fc.nat({ max: 4_000_000_000_000 }),
  });

const scopeOf = fc
  .record(Object.fromEntries(LIST_KINDS.map((kind) => [kind, listOf(kind)])), { requiredKeys: [] })
  .map((lists) => new Map(Object.entries(lists) as [ListKind, PersistedList][]));

const known = (): fc.Arbitrary<PersistedServer> =>
  fc
    .record({
      memory: fc.option(
        json().map((more) => ({ more })),
        { nil: undefined },
      ),
      startFailed: fc.boolean(),
      scopes: fc.array(fc.tuple(fc.string(), scopeOf), { maxLength: 3 }).map((all) => new Map(all)),
    })
    .map(({ memory, ...lists }) => ({ ...lists, ...(memory !== undefined && { memory }) }));

const TOOLS: PersistedList = {
  items: [entry.tools("add", parseJson("[1.0,9007199254740993,1e400,-0]"))],
  malformed: [],
  freshness: { ttlMs: 0, scope: "private" },
  hasTtl: false,
  fetchedAt: 5,
};
const SIMPLE: PersistedServer = {
  memory: { era: "legacy" },
  startFailed: false,
  scopes: new Map([["shared", new Map([["tools", TOOLS]])]]),
};

describe("a file of lists", () => {
  test("comes back as it was written, each number in its notation", () => {
    fc.assert(
      fc.property(known(), (server) => {
        const text = encode(server);
        const content = decode(text);
        expect(content).toMatchObject({ ok: true, server });
        expect(content.ok && encode(content.server)).toBe(text);
      }),
    );
    expect(encode(SIMPLE)).toContain("[1.0,9007199254740993,1e400,-0]");
  });

  test("has a list that scopes share once", () => {
    const shared = new Map([["tools" as const, TOOLS]]);
    const server = { ...SIMPLE, scopes: new Map([1, 2, 3].map((at) => [`class ${at}`, shared] as const)) };
    const text = encode(server);
    expect(text.split('"add"')).toHaveLength(2);
    expect(decode(text)).toMatchObject({ ok: true, server });
  });

  test("keeps the scopes of the last fifty kinds of hosts", () => {
    const shared = new Map([["tools" as const, TOOLS]]);
    const scopes = new Map(Array.from({ length: 60 }, (_, at) => [`class ${at}`, shared] as const));
    const content = decode(encode({ ...SIMPLE, scopes }));
    expect(content.ok && [...content.server.scopes.keys()]).toEqual([...scopes.keys()].slice(0, 50));
  });

  test("is refused with a reason wherever it was cut", () => {
    const bytes = Buffer.from(encode(SIMPLE));
    for (let length = 0; length < bytes.length; length += 1) {
      expect([length, reasonOf(bytes.subarray(0, length))]).toEqual([
        length,
        expect.stringContaining("cut, damaged or edited"),
      ]);
    }
  });

  test("is refused with a reason whichever bit was flipped", () => {
    const text = Buffer.from(encode(SIMPLE));
    for (let at = 0; at < text.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const bytes = Buffer.from(text);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        expect([at, bit, reasonOf(bytes)]).toEqual([at, bit, expect.any(String)]);
      }
    }
  });

  test("is refused where a byte was added, or bytes that read alike were exchanged", () => {
    const text = encode({ ...SIMPLE, memory: { name: "\ufffd" } });
    expect(reasonOf(`${text} `)).toContain("checksum");
    expect(reasonOf(`\n${text}`)).toContain("first line");
    const invalid = Buffer.from(text);
    const at = invalid.indexOf(Buffer.from("\ufffd"));
    expect(
      reasonOf(Buffer.concat([invalid.subarray(0, at), Buffer.of(0xff), invalid.subarray(at + 3)])),
    ).toContain("checksum");
  });

  test("is refused under the seal of another server or another key", () => {
    expect(reasonOf(encode(SIMPLE), sealOf("other"))).toContain("checksum");
  });

  test("of another format names the version that wrote it", () => {
    const head = "cardea-lists 2 9.0.0-beta.1";
    expect(reasonOf(sealed("{}", head))).toBe(
      "Cardea 9.0.0-beta.1 wrote it in format 2; this version reads 1",
    );
  });

  test("of another version in the same format is read", () => {
    const text = sealed(bodyOf(SIMPLE), "cardea-lists 1 0.0.1");
    expect(decode(text)).toMatchObject({ ok: true, server: SIMPLE });
  });

  test("is written in steps of some 64 KiB, between which calls are served", () => {
    const items = Array.from({ length: 1_000 }, (_, at) => entry.tools(`tool ${at}`, "x".repeat(1_000)));
    const server = {
      ...SIMPLE,
      scopes: new Map([["shared", new Map([["tools" as const, { ...TOOLS, items }]])]]),
    };
    const file = encodedAtOnce(server, SEAL);
    expect(file?.steps).toBeGreaterThan(15);
    expect(decode(file?.text ?? "")).toMatchObject({ ok: true, server });
  });

  test("is neither written nor read beyond 16 MiB", () => {
    const large = { ...SIMPLE, memory: { text: "x".repeat(MAX_FILE_BYTES) } };
    expect(encodedAtOnce(large, SEAL)).toBeUndefined();
    expect(reasonOf(Buffer.alloc(MAX_FILE_BYTES + 1))).toBe("it is larger than 16 MiB");
    const umlauts = { ...SIMPLE, memory: { text: "ü".repeat(MAX_FILE_BYTES / 2) } };
    expect(encodedAtOnce(umlauts, SEAL)).toBeUndefined();
  });

  test.each([600, 50_000])("is neither written nor read where it nests %i levels", (depth) => {
    const nested = "[".repeat(depth) + "]".repeat(depth);
    const memory = parseJson(`{"a":${nested}}`) as JsonObject;
    expect(encodedAtOnce({ ...SIMPLE, memory }, SEAL)).toBeUndefined();
    expect(reasonOf(sealed(nested))).toBe("it is nested too deeply");
  });

  const BODY = {
    memory: {},
    startFailed: false,
    scopes: [{ scope: "shared", lists: [0] }],
    lists: [
      {
        ...{ kind: "tools", items: [entry.tools("add", 1)], malformed: [] },
        ...{ ttlMs: 1, cacheScope: "private", hasTtl: true },
      },
    ],
  };
  const withList = (change: JsonObject) => ({ ...BODY, lists: [{ ...BODY.lists[0], ...change }] });

  test.each([
    ["its content", []],
    ["memory", { ...BODY, memory: "legacy" }],
    ["startFailed", { ...BODY, startFailed: 1 }],
    ["lists", { ...BODY, lists: {} }],
    ["lists[0]", { ...BODY, lists: [null] }],
    ["lists[0].kind", withList({ kind: "__proto__" })],
    ["lists[0].items", withList({ items: "add" })],
    ["lists[0].items[0]", withList({ items: [7] })],
    ["lists[0].items[0]", withList({ items: [{ name: "add" }] })],
    ["lists[0].malformed[0]", withList({ malformed: [{ list: "tools" }] })],
    ["lists[0].ttlMs", withList({ ttlMs: -1 })],
    ["lists[0].ttlMs", withList({ ttlMs: 1e300 })],
    ["lists[0].cacheScope", withList({ cacheScope: "all" })],
    ["lists[0].hasTtl", withList({ hasTtl: null })],
    ["scopes", { ...BODY, scopes: Array.from({ length: 51 }, () => BODY.scopes[0]) }],
    ["scopes[0].scope", { ...BODY, scopes: [{ lists: [0] }] }],
    ["scopes[0].lists", { ...BODY, scopes: [{ scope: "shared", lists: [1] }] }],
  ] as const)("under a right seal is still refused for %s", (where, body) => {
    expect(decode(sealed(`${writeJson(BODY)}\n[1]`)).ok).toBe(true);
    const reason = reasonOf(sealed(`${writeJson(body)}\n[1]`));
    expect(reason?.startsWith(`${where} is not what this version writes`)).toBe(true);
  });

  test.each(["{}", "[]", "[-1]", '["now"]', "[1e300]"])(
    "under a right seal is still refused with the times %s",
    (times) => {
      expect(reasonOf(sealed(`${writeJson(BODY)}\n${times}`))).toBe("times is not what this version writes");
    },
  );

  test.each([
    ["", "it is not JSON"],
    [writeJson(BODY), "it is not JSON"],
    [`${writeJson(BODY)}\n[1]\n`, "it has more than three lines"],
  ])("under a right seal is still refused with other lines than three: %s", (body, reason) => {
    expect(reasonOf(sealed(body))).toBe(reason);
  });

  test("has the same content where only the times of its lists differ", () => {
    const at = (fetchedAt: number) =>
      encodedAtOnce(
        { ...SIMPLE, scopes: new Map([["shared", new Map([["tools", { ...TOOLS, fetchedAt }]])]]) },
        SEAL,
      );
    expect(at(1)?.content).toBe(at(2)?.content);
    expect(at(1)?.text).not.toBe(at(2)?.text);
    const read = decode(encode(SIMPLE));
    expect(read.ok && read.content).toBe(at(1)?.content);
    expect(encodedAtOnce({ ...SIMPLE, startFailed: true }, SEAL)?.content).not.toBe(at(1)?.content);
  });

  test("under a right seal never throws, whatever it holds", () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((given) => Buffer.from(given).toString("latin1"));
    const anything = fc.oneof(bytes, fc.json(), known().map(bodyOf));
    fc.assert(
      fc.property(anything, (body) => {
        const content = decode(sealed(body));
        expect(content.ok || content.reason.length > 0).toBe(true);
      }),
    );
  });
});
