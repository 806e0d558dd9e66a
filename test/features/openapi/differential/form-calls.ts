/** Calls of an HTTP API whose names and values readers of forms may take for other ones, and the API they are for. */
import type { JsonObject } from "../../../../src/wire/json.js";
import fc from "../../../support/fast-check.js";

export interface FormCall {
  readonly tool: string;
  readonly args: JsonObject;
}

const STRING = { type: "string" };
const ok = { responses: { 200: { description: "ok" } } };
const FILTER = { type: "object", properties: { account: STRING }, additionalProperties: true };
const DEEP = { style: "deepObject", explode: true };
const form = (mediaType: string, schema: object, encoding: object = {}) => ({
  post: { requestBody: { required: true, content: { [mediaType]: { schema, encoding } } }, ...ok },
});
const FORM = "application/x-www-form-urlencoded";
const fields = { env: STRING, note: STRING, tags: { type: "array", items: STRING }, filter: FILTER };
const described = { type: "object", properties: fields };
const open = { type: "object", properties: { note: STRING, filter: FILTER }, additionalProperties: true };
const inQuery = {
  get: {
    parameters: [
      ...["env", "note"].map((name) => ({ name, in: "query", schema: STRING })),
      { name: "filter", in: "query", ...DEEP, schema: FILTER },
      { name: "more", in: "query", explode: true, schema: { type: "object", additionalProperties: true } },
    ],
    ...ok,
  },
};

/** By the name of the tool. */
const ITEMS: Readonly<Record<string, object>> = {
  closed: form(FORM, described, { filter: DEEP }),
  open: form(FORM, open, { filter: DEEP }),
  spread: form(
    FORM,
    { ...described, additionalProperties: STRING },
    { filter: { style: "form", explode: true } },
  ),
  multi: form("multipart/form-data", open),
  json: form("application/json", described),
  loose: form("application/json", { type: "object" }),
  query: inQuery,
  // The config fixes its `note`.
  fixed: inQuery,
};

export const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Forms", version: "1" },
  paths: Object.fromEntries(
    Object.entries(ITEMS).map(([name, item]) => [
      `/${name}`,
      Object.fromEntries(
        Object.entries(item).map(([method, one]) => [method, { operationId: name, ...one }]),
      ),
    ]),
  ),
};

const WORDS = ["env", "env", "env", "account", "filter", "note", "x", "_method", "utf8", "_charset_", "more"];
const SIGNS = [
  "[",
  "]",
  "[]",
  "[0]",
  ".",
  " ",
  "+",
  "%",
  "%5B",
  "%00",
  "\0",
  ";",
  "&",
  "=",
  "_",
  "-",
  "\t",
  "\u200b",
  "\\",
  '"',
  "\r\n",
];
const letters = (word: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    word.toUpperCase(),
    word.charAt(0).toUpperCase() + word.slice(1),
    word.replace("v", "ｖ"),
    word.replace("t", "T"),
    word.replace("i", "ı"),
  );

const word = fc.constantFrom(...WORDS);
const sign = fc.constantFrom(...SIGNS);
const name: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 2, arbitrary: word.chain(letters) },
  { weight: 2, arbitrary: fc.tuple(sign, word).map((parts) => parts.join("")) },
  { weight: 2, arbitrary: fc.tuple(word, sign).map((parts) => parts.join("")) },
  { weight: 2, arbitrary: word.map((one) => `[${one}]`) },
  { weight: 2, arbitrary: fc.tuple(word, word).map(([a, b]) => `${a}[${b}]`) },
  { weight: 1, arbitrary: fc.tuple(word, word).map(([a, b]) => `${a}.${b}`) },
  { weight: 1, arbitrary: fc.tuple(word, sign, word, sign).map((parts) => parts.join("")) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "__proto__",
      "constructor",
      "constructor[prototype][env]",
      "X-HTTP-Method-Override",
    ),
  },
);
const text = fc.constantFrom(
  ...[
    "prod",
    "prod",
    "prod",
    "dev",
    "victim",
    "victim",
    "own",
    "DELETE",
    "",
    "x&env=prod",
    "x;env=prod",
    "x\r\nenv=prod",
    '{"env":"prod"}',
  ],
);
const value = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(1, true, null) },
  { weight: 1, arbitrary: fc.array(text, { maxLength: 3 }) },
  { weight: 2, arbitrary: fc.dictionary(name, text, { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(name, fc.dictionary(name, text, { maxKeys: 2 }), { maxKeys: 2 }) },
);
const object = fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true });

/** An object that the schema admits, with one member that is odd. */
const nearly = fc
  .tuple(fc.record({ note: text, env: fc.constantFrom("dev", "prod") }, { requiredKeys: [] }), name, value)
  .map(([usual, odd, one]) => ({ ...usual, [odd]: one }));
const members = fc.oneof(object, nearly);
const filter = fc.oneof(fc.dictionary(name, text, { maxKeys: 3 }), value);

export const formCalls: fc.Arbitrary<FormCall> = fc.oneof(
  fc.record({
    tool: fc.constantFrom("closed", "open", "spread", "multi", "json", "loose"),
    args: fc.oneof(
      members.map((body) => ({ body })),
      fc.tuple(members, filter).map(([body, one]) => ({ body: { ...body, filter: one } })),
    ),
  }),
  fc.record({
    tool: fc.constantFrom("query", "fixed"),
    args: fc.record({ env: value, note: value, filter, more: members }, { requiredKeys: [] }),
  }),
);
