/** Members that a reader could take for others, and the table of those that MCP defines. */
import { describe, expect, test } from "vitest";
import { paramsFault } from "../../src/core/check-params.js";
import { type Members, PARAMS } from "../../src/core/members.js";
import { CaseFoldedNames } from "../../src/wire/case-folding.js";
import type { JsonObject } from "../../src/wire/json.js";
import fc from "../support/fast-check.js";
import { officialSchema, REVISIONS } from "../support/official-schemas.js";
import type { Json } from "../support/peers/host.js";

const parsed = (text: string): JsonObject => JSON.parse(text) as JsonObject;

describe("a name", () => {
  test.each([
    ["Name", "name"],
    ["NAME", "name"],
    ["ｎame", "name"],
    ["ＮＡＭＥ", "name"],
    ["𝐧𝖆𝗺ｅ", "name"],
    ["ⓝame", "name"],
    ["argumentſ", "arguments"],
    ["toKen", "token"],
    ["toKen", "token"],
    ["urı", "uri"],
    ["urİ", "uri"],
    ["URI\u0307", "uri"],
    ["uri", "uri"],
    ["ﬁle", "file"],
    ["ﬀ", "ff"],
  ])("written %j is read as %j", (written, meant) => {
    expect(new CaseFoldedNames(["name", "arguments", "token", "uri", "file", "ff"]).match(written)).toBe(
      meant,
    );
  });

  test.each(["", "nam", "names", "na-me", "námé", "n.ame", "__proto__", "constructor", "x".repeat(1e6)])(
    "that is another (%#) is read as none",
    (written) => {
      expect(new CaseFoldedNames(["name", "uri"]).match(written)).toBeUndefined();
    },
  );

  test("in any mixture of case and width is read as what it was made of", () => {
    const names = ["name", "arguments", "requestState", "_meta", "inputResponses", "taskId"];
    const spellings = new CaseFoldedNames(names);
    const letter = (one: string) =>
      fc.constantFrom(
        one,
        one.toUpperCase(),
        one.toLowerCase(),
        ...(/[a-z]/i.test(one) ? [String.fromCodePoint((one.codePointAt(0) ?? 0) + 0xfee0)] : []),
        ...(one === "s" ? ["ſ"] : []),
      );
    const written = fc
      .constantFrom(...names)
      .chain((name) => fc.tuple(fc.constant(name), fc.tuple(...[...name].map(letter))));
    fc.assert(
      fc.property(written, ([name, letters]) => {
        expect(spellings.match(letters.join(""))).toBe(name);
      }),
    );
  });
});

describe("parameters", () => {
  test.each([
    ["tools/call", '{"name":"a","arguments":{"Name":1,"name":2,"__proto__":3}}'],
    ["tools/call", '{"name":"a","vendor":{"Name":1},"names":1,"x-Name":2}'],
    ["tools/call", '{"__proto__":{"Name":"b"},"constructor":1,"toString":2,"hasOwnProperty":3}'],
    ["tools/call", '{"name":"a","_meta":{"com.example/ProgressToken":1,"__proto__":1}}'],
    ["tools/call", '{"name":"a","inputResponses":{"q":{"action":"accept","content":{"Action":1}},"Q":{}}}'],
    ["completion/complete", '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}'],
    ["ops/run", '{"Name":"a","Arguments":[1]}'],
    ["__proto__", '{"name":"a","NAMES":"b"}'],
    ["sampling/createMessage", '{"messages":[{"role":"user","content":{"type":"text","text":"Text"}}]}'],
    ["elicitation/create", '{"message":"m","requestedSchema":{"properties":{"Type":{"type":"string"}}}}'],
  ])("of %s that are %s are taken", (method, text) => {
    expect(paramsFault(method, parsed(text))).toBeUndefined();
  });

  test.each([
    ["tools/call", '{"arguments":[]}', '"arguments" must be an object'],
    ["tools/call", '{"arguments":null}', '"arguments" must be an object'],
    ["prompts/get", '{"arguments":"x"}', '"arguments" must be an object'],
    ["completion/complete", '{"argument":"x"}', '"argument" must be an object'],
    ["completion/complete", '{"context":[]}', '"context" must be an object'],
    ["completion/complete", '{"context":{"arguments":[1]}}', '"context.arguments" must be an object'],
    ["completion/complete", '{"ref":{"URI":"x"}}', '"ref.URI" could be read as "ref.uri"'],
    ["subscriptions/listen", '{"notifications":{"ResourceSubscriptions":[]}}', '"notifications.Resource'],
    ["tools/call", '{"inputResponses":{"q":{"Action":1}}}', '"inputResponses.q.Action" could be read as'],
    ["tools/call", '{"_meta":{"ProgressToken":1}}', '"_meta.ProgressToken" could be read as'],
    ["tools/call", '{"task":{"TTL":1}}', '"task.TTL" could be read as "task.ttl"'],
    ["initialize", '{"capabilities":{"Roots":{}}}', '"capabilities.Roots" could be read as'],
    ["initialize", '{"capabilities":{"elicitation":{"URL":{}}}}', '"capabilities.elicitation.URL"'],
    ["sampling/createMessage", '{"messages":[{"content":{"Text":1}}]}', '"messages.0.content.Text"'],
    ["sampling/createMessage", '{"messages":[{},{"content":[{"Text":1}]}]}', '"messages.1.content.0.Text"'],
    ["elicitation/create", '{"requestedSchema":{"Properties":{}}}', '"requestedSchema.Properties" could'],
    ["notifications/cancelled", '{"RequestId":1}', '"RequestId" could be read as "requestId"'],
    ["ops/run", '{"name":"a","Name":"b"}', '"Name" could be read as "name"'],
  ])("of %s that are %s are not", (method, text, sentence) => {
    expect(paramsFault(method, parsed(text))).toContain(sentence);
  });
});

interface Definitions {
  readonly [name: string]: Json;
}
const resolved = (schema: Json, all: Definitions): Json =>
  typeof schema.$ref === "string" ? resolved(all[schema.$ref.split("/").at(-1) ?? ""] ?? {}, all) : schema;

/** The members of an object, with what is known of them. */
function propertiesOf(given: Json, all: Definitions): Readonly<Record<string, Json>> {
  const schema = resolved(given, all);
  const parts = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) => (list ?? []) as Json[]);
  return Object.assign({}, ...parts.map((part) => propertiesOf(part, all)), schema.properties) as Record<
    string,
    Json
  >;
}

/** Every member of the schema that the table has not, two objects deep, by where it stands. */
function missing(schema: Json, members: Members, all: Definitions, path: string): readonly string[] {
  return Object.entries(propertiesOf(schema, all)).flatMap(([name, inner]) => {
    if (!members.names.has(name)) return [`${path}${name}`];
    const known = members.names.get(name);
    return known?.members !== undefined && known.appliesTo === "itself"
      ? missing(inner, known.members, all, `${path}${name}.`)
      : [];
  });
}

test.each(REVISIONS)("the table has every member of every method of %s", (revision) => {
  const schema = officialSchema(revision);
  const all = (schema.definitions ?? schema.$defs) as Definitions;
  const methods = Object.values(all).flatMap((one): readonly (readonly [string, Json])[] => {
    const { method, params } = (one.properties ?? {}) as Readonly<Record<string, Json>>;
    return typeof method?.const === "string" ? [[method.const, params ?? {}]] : [];
  });
  expect(methods.length).toBeGreaterThan(15);
  const absent = methods.flatMap(([method, params]) => {
    const members = PARAMS.get(method);
    return members === undefined ? [method] : missing(params, members, all, `${method}: `);
  });
  expect(absent).toEqual([]);
});
