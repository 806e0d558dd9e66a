/** Can one argument set what another argument, the config or nothing at all may set in the request to an HTTP API? */
import { describe, expect, test } from "vitest";
import { documentOf, startApi } from "../../support/api.js";
import { openApi } from "./open-api.js";

const ok = { responses: { 200: { description: "ok" } } };
const STRING = { type: "string" };
const OBJECT = { type: "object" };

interface Operation {
  readonly path?: string;
  readonly base?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly parameters?: readonly object[];
  /** The media type of the body, and its description. */
  readonly body?: readonly [string, object];
}

/** Calls the one operation of an API; the request it got, or the refusal. */
async function called(operation: Operation, args: object) {
  const { path = "/items/{id}", base = "", headers = {}, parameters = [], body } = operation;
  const id = { name: "id", in: "path", required: true, schema: STRING };
  const described = {
    operationId: "op",
    parameters: path.includes("{id}") ? [id, ...parameters] : parameters,
    ...(body && { requestBody: { content: { [body[0]]: body[1] } } }),
    ...ok,
  };
  const api = await startApi();
  const document = documentOf({ [path]: { [body ? "post" : "get"]: described } }, { "x-text": STRING });
  const { call } = await openApi(document, { baseUrl: `${api.url}${base}`, headers });
  const result = await call("op", path.includes("{id}") ? { id: "7", ...args } : { ...args });
  expect(api.asked).toHaveLength(result.isError === true ? 0 : 1);
  return { request: api.asked[0], refusal: result.isError === true ? result.content[0]?.text : undefined };
}

const query = (name: string, more: object = {}) => ({ name, in: "query", schema: OBJECT, ...more });
const cookie = (name: string, more: object = {}) => ({ ...query(name, more), in: "cookie" });

describe("an object where the document describes none is refused:", () => {
  test.each([
    ["a string", { schema: STRING }],
    ["a choice without objects", { schema: { oneOf: [STRING, { type: "integer" }] } }],
    ["a choice of one schema twice", { schema: { anyOf: [{ $ref: "#/x-text" }, { $ref: "#/x-text" }] } }],
    ["a value of an enumeration", { schema: { enum: ["a", "b"] } }],
    ["any value, whose members would be parameters", { schema: {} }],
    ["nothing at all", { schema: undefined }],
    ["a string in a header", { in: "header", schema: STRING }],
    ["a string in a cookie", { in: "cookie", schema: STRING }],
    ["a list of strings", { style: "deepObject", schema: { type: "array", items: STRING } }],
  ])("%s", async (_, parameter) => {
    const { refusal } = await called({ parameters: [query("q", parameter)] }, { q: { session: "x" } });
    expect(refusal).toBe('op was not called: the argument "q" must not be an object');
  });

  test("a part of the path", async () => {
    expect((await called({}, { id: { a: 1 } })).refusal).toContain('"id" must not be an object');
  });
});

test.each([
  ["an object", { schema: OBJECT }, "a=1"],
  ["something with properties", { schema: { properties: { a: STRING } } }, "a=1"],
  ["one of several", { schema: { anyOf: [STRING, { type: ["object", "null"] }] } }, "a=1"],
  ["parts that are objects", { schema: { allOf: [{ description: "d" }, OBJECT] } }, "a=1"],
  ["any value in a parameter of its own", { schema: {}, explode: false }, "q=a,1"],
  ["JSON", { schema: undefined, content: { "application/json": {} } }, "q=%7B%22a%22%3A%221%22%7D"],
])("an object is sent where the document describes %s", async (_, parameter, expected) => {
  const { request } = await called({ parameters: [query("q", parameter)] }, { q: { a: "1" } });
  expect(request?.url).toBe(`/items/7?${expected}`);
});

describe("a member of an object cannot set", () => {
  test.each([
    ["another parameter", { account: "2" }],
    ["another parameter in other case", { Account: "2" }],
    ["another parameter as a list", { "account[]": "2" }],
    ["another parameter as an object", { "account[id]": "2" }],
    ["another parameter, which some servers read so", { " account\0x": "2" }],
    ["a part of another parameter", { "filter[owner]": "2" }],
    ["a parameter around another one", { filter: "2" }],
    ["a name that PHP reads as another parameter", { "user.id": "2" }],
    ["what the config sets", { api_key: "mine" }],
    ["what the config sets in other case", { API_KEY: "mine" }],
  ])("%s", async (_, q) => {
    const parameters = [
      query("q"),
      ...["account", "filter[owner]", "user_id"].map((name) => query(name, { schema: STRING })),
    ];
    const args = { q: { fine: 1, ...q }, account: "1" };
    const { refusal } = await called({ base: "/?api_key=SECRET", parameters }, args);
    expect(refusal).toContain('the argument "q" must not set');
    expect(refusal).not.toContain("SECRET");
  });

  test("another parameter through deepObject", async () => {
    const parameters = [query("filter", { style: "deepObject" }), query("filter[owner]", { schema: STRING })];
    for (const filter of [{ owner: "2" }, { owner: { x: "2" } }, { "owner]": "2" }, { "Owner][x": "2" }])
      expect(await called({ parameters }, { filter })).toMatchObject({
        refusal: expect.stringContaining('the argument "filter" must not set'),
      });
    const { request } = await called({ parameters }, { filter: { name: "n" }, filter_owner: "1" });
    expect(request?.url).toBe("/items/7?filter[name]=n&filter%5Bowner%5D=1");
  });

  test("what the config sets through deepObject", async () => {
    const operation = {
      base: "/?filter[tenant]=1",
      parameters: [query("filter", { style: "deepObject" })],
    };
    expect((await called(operation, { filter: { tenant: "2" } })).refusal).toContain("must not set");
  });

  test("another cookie", async () => {
    const parameters = [cookie("prefs"), cookie("session", { schema: STRING })];
    expect((await called({ parameters }, { prefs: { session: "x" } })).refusal).toContain(
      'the argument "prefs" must not set "session"',
    );
    expect((await called({ parameters }, { prefs: { "a; session": "x" } })).refusal).toContain(
      "must not set",
    );
    const { request } = await called({ parameters }, { prefs: { a: "x;y\r\n" } });
    expect(request?.headers.cookie).toBe("a=x%3By%0D%0A");
  });

  test("a cookie beside those of the config", async () => {
    const operation = { headers: { Cookie: "session=s" }, parameters: [cookie("prefs")] };
    expect((await called(operation, { prefs: { session: "x" } })).refusal).toContain("no argument");
  });

  test("another matrix parameter of the path", async () => {
    const matrix = (name: string, schema: object) => ({
      ...{ name, in: "path", required: true, style: "matrix", explode: true, schema },
    });
    const operation = {
      path: "/a;tenant=1/{x}{y}",
      parameters: [matrix("x", OBJECT), matrix("y", STRING)],
    };
    for (const x of [{ y: "2" }, { tenant: "2" }, { "z;y": "2" }])
      expect((await called(operation, { x, y: "1" })).refusal).toContain('the argument "x" must not set');
    const { request } = await called(operation, { x: { z: "2;y=3" }, y: "1" });
    expect(request?.url).toBe("/a;tenant=1/;z=2%3By%3D3;y=1");
  });
});

test("signs that end a name or a value are encoded, also with allowReserved", async () => {
  const schema = { type: "object", properties: { "account=2&x;y\r\n": STRING } };
  const parameters = [query("q", { allowReserved: true, schema })];
  const { request } = await called({ parameters }, { q: { "account=2&x;y\r\n": "/a;account=2&b#c" } });
  expect(request?.url).toBe("/items/7?account%3D2%26x%3By%0D%0A=/a%3Baccount=2%26b%23c");
});

test("objects in a list stay in their parameter", async () => {
  const parameters = [
    query("q", { schema: { type: "array", items: OBJECT } }),
    query("account", { schema: STRING }),
  ];
  const { request } = await called({ parameters }, { q: [{ account: "2" }], account: "1" });
  expect(request?.url).toBe("/items/7?q=%7B%22account%22%3A%222%22%7D&account=1");
});

test("a header's list has the items that the argument has, and its object the members", async () => {
  const parameters = [
    { name: "X-List", in: "header", schema: { type: "array" } },
    { name: "X-Object", in: "header", explode: true, schema: OBJECT },
  ];
  for (const args of [
    { "X-List": ["a,b"] },
    { "X-Object": { a: "1,b=2" } },
    { "X-Object": { "a=1,b": "2" } },
    { "X-Object": { "a=1": "2" } },
  ])
    expect((await called({ parameters }, args)).refusal).toContain("separates");
  const { request } = await called(
    { parameters },
    { "X-List": ["a", "b"], "X-Object": { a: "1", b: "x=y" } },
  );
  expect(request?.headers).toMatchObject({ "x-list": "a,b", "x-object": "a=1,b=x=y" });
});

test("two spellings of one header are one parameter", async () => {
  const parameters = ["X-Tenant", "x-tenant"].map((name) => ({ name, in: "header", schema: STRING }));
  const { refusal } = await called({ parameters }, { "X-Tenant": "1", "x-tenant": "2" });
  expect(refusal).toContain("there is no argument");
});

describe("a part of the path stays in its folder:", () => {
  test.each([
    ["a member with dots", "simple", { a: "/../x" }],
    ["a name with dots", "simple", { "/../x": "a" }],
    ["dots of a label before an encoded slash", "label", ["", "/x"]],
    ["dots before a semicolon", "simple", "..;"],
    ["dots before a slash that is encoded", "simple", "..%2fx"],
    ["dots that are encoded", "simple", "%2e%2E"],
    ["dots that are encoded twice", "simple", "%252e%252e%252fx"],
    ["dots before an encoded backslash", "simple", "a%5C..%5cx"],
    ["a folder of no name but a dot, encoded", "simple", "a%2F%2e%2Fx"],
    ["an encoded NUL", "simple", "a%00"],
    ["an object without members", "simple", {}],
    ["an object without members, in a matrix", "matrix", {}],
  ])("%s", async (_, style, value) => {
    const parameters = [{ name: "p", in: "path", required: true, style, explode: true }];
    const schema = style === "matrix" ? OBJECT : { type: ["string", "array", "object"] };
    const described = [{ ...parameters[0], schema }];
    const { refusal } = await called({ path: "/a/{p}/b", parameters: described }, { p: value });
    expect(refusal).toContain("path");
  });
});

describe("a field of a form cannot set", () => {
  const schema = {
    type: "object",
    properties: { filter: OBJECT, deep: OBJECT, amount: STRING, "deep[fixed]": STRING, "a=1&amount": STRING },
    additionalProperties: true,
  };
  const encoding = {
    filter: { style: "form", explode: true },
    deep: { style: "deepObject", explode: true },
  };
  const body = ["application/x-www-form-urlencoded", { schema, encoding }] as const;

  test.each([
    ["a field of the document", { filter: { amount: "2" } }],
    ["a field of the document in other case", { filter: { Amount: "2" } }],
    ["a field that the call has too", { filter: { other: "2" }, other: "1" }],
    ["a field of the document through deepObject", { deep: { fixed: "2" } }],
    ["a member of another field", { deep: { a: "1" }, "deep[a]": "2" }],
    ["a list in place of a field", { "amount[]": "2" }],
    ["a field of the document by its own name in other case", { AMOUNT: "2" }],
  ])("%s", async (_, given) => {
    expect((await called({ body }, { body: given })).refusal).toContain("must not set");
  });

  test("anything by signs in its name", async () => {
    const { request } = await called({ body }, { body: { "a=1&amount": "2&amount=3" } });
    expect(request?.body.toString()).toBe("a%3D1%26amount=2%26amount%3D3");
    for (const given of [
      { "x=1&amount": "4" },
      { filter: { "x=1&amount": "4" } },
      { deep: { "a]=1&amount": "5" } },
    ])
      expect((await called({ body }, { body: given })).refusal).toContain("must not set");
  });

  test("anything, however many fields there are", async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, n]));
    const { request } = await called({ body }, { body: many(1_000) });
    expect(request?.body.length).toBeGreaterThan(5_000);
    expect((await called({ body }, { body: many(20_000) })).refusal).toContain("many servers read 1000");
    const long = { ...many(20_000), filter: { [`${"[".repeat(20_000)}`]: 1 } };
    expect((await called({ body }, { body: long })).refusal).toContain("must not set");
  });
});

describe("a field of a multipart form cannot have", () => {
  const schema = {
    type: "object",
    properties: { file: { type: "string", format: "binary" }, amount: STRING, other: STRING },
    additionalProperties: true,
  };
  const body = ["multipart/form-data", { schema }] as const;

  test.each([
    ["a quote", 'a"; name="amount'],
    ["a line break", "a\r\nX-Evil: 1\r\n\r\nx"],
    ["a backslash, which hides the quote after it", "a\\"],
    ["a NUL", "x\0"],
  ])("%s in its name", async (_, name) => {
    expect((await called({ body }, { body: { [name]: "x" } })).refusal).toContain("must not set");
  });

  test("the name of another one in other case, or as a list", async () => {
    for (const name of ["Amount", "amount[]", "file[name]"])
      expect((await called({ body }, { body: { [name]: "x" } })).refusal).toContain("must not set");
    const { request } = await called({ body }, { body: { amount: "1", other: "--x\r\n" } });
    expect(request?.body.toString()).toContain('name="amount"\r\n\r\n1\r\n');
  });
});

describe("names of a form that the document does not describe", () => {
  const form = (schema: object, type = "application/x-www-form-urlencoded") => ({
    body: [type, { schema, encoding: { filter: { style: "deepObject", explode: true } } }] as const,
  });
  const properties = { env: STRING, filter: { type: "object", properties: { owner: STRING } } };
  const CLOSED = { type: "object", properties };
  const OPEN = { ...CLOSED, additionalProperties: true };

  test.each(["application/x-www-form-urlencoded", "multipart/form-data"])(
    "are refused where it does not say additionalProperties: %s",
    async (type) => {
      const { refusal } = await called(form(CLOSED, type), { body: { stage: "x" } });
      expect(refusal).toContain('the document describes no member "stage" of "body"; it has env, filter');
    },
  );

  test("are sent where it says additionalProperties, if all servers read them as themselves", async () => {
    const { request } = await called(form(OPEN), { body: { stage: "x", "a-b_9": 1 } });
    expect(request?.body.toString()).toBe("stage=x&a-b_9=1");
  });

  test.each([
    ...[
      "[env]",
      "env[]",
      "[env",
      "env.",
      " env",
      "env ",
      "env+",
      "env\0",
      "env%5B%5D",
      "e\u0301nv",
      "0",
      "-1",
      "",
    ],
    ...[
      "_method",
      "_METHOD",
      "X-HTTP-Method-Override",
      "_charset_",
      "utf8",
      "constructor",
      "toString",
      "a;env",
    ],
    ...["ENV", "Env", "ｅｎｖ", "filter[owner]", "filter.owner", "Filter"],
  ])("are refused although it says additionalProperties: %j", async (name) => {
    for (const type of ["application/x-www-form-urlencoded", "multipart/form-data"])
      expect((await called(form(OPEN, type), { body: { [name]: "prod" } })).refusal).toContain(
        "must not set",
      );
  });

  test.each(["[owner]", "owner]", "Owner", "owner[x", "account", "[account]"])(
    "are refused inside a field: %j",
    async (name) => {
      const { refusal } = await called(form(OPEN), { body: { filter: { [name]: "x" } } });
      expect(refusal).toContain('"body.filter');
    },
  );

  test("are refused in a query, with the names that there are", async () => {
    const filter = query("filter", { style: "deepObject", schema: properties.filter });
    const { refusal } = await called({ parameters: [filter] }, { filter: { "[owner]": "x" } });
    expect(refusal).toContain('describes no member "[owner]" of "filter"; it has owner');
  });

  test("that differ in case alone are refused", async () => {
    expect((await called(form(OPEN), { body: { stage: "a", Stage: "b" } })).refusal).toContain(
      "another member",
    );
  });
});

test("names that the document describes are sent as it writes them", async () => {
  const properties = {
    _method: { enum: ["PUT"] },
    "ids[]": { type: "array", items: STRING },
    "user.name": STRING,
  };
  const body = ["application/x-www-form-urlencoded", { schema: { type: "object", properties } }] as const;
  const { request } = await called(
    { body },
    { body: { _method: "PUT", "ids[]": ["1", "2"], "user.name": "n" } },
  );
  expect(request?.body.toString()).toBe("_method=PUT&ids%5B%5D=1&ids%5B%5D=2&user.name=n");
});

describe("a name that servers read as the method of the request takes the values that the document lists only:", () => {
  test.each([
    "_method",
    "_METHOD",
    "X-HTTP-Method-Override",
    "x_http_method_override",
    "method_override",
    "X-Method",
  ])("%s", async (name) => {
    const listed = { schema: { type: "string", enum: ["PUT", "PATCH"] } };
    for (const place of ["query", "header"] as const) {
      const parameter = (more: object) => ({ parameters: [{ ...query(name, more), in: place }] });
      expect((await called(parameter({ schema: STRING }), { [name]: "DELETE" })).refusal).toContain(
        "read as the method",
      );
      expect((await called(parameter(listed), { [name]: "DELETE" })).refusal).toContain("lists PUT, PATCH");
      expect((await called(parameter(listed), { [name]: "PUT" })).refusal).toBeUndefined();
    }
    for (const type of ["application/x-www-form-urlencoded", "multipart/form-data", "application/json"]) {
      const body = (schema: object) => ({
        body: [type, { schema: { type: "object", properties: { [name]: schema } } }] as const,
      });
      expect((await called(body(STRING), { body: { [name]: "DELETE" } })).refusal).toContain(
        "read as the method",
      );
      expect((await called(body({ const: "PUT" }), { body: { [name]: "DELETE" } })).refusal).toContain(
        "lists PUT",
      );
      expect((await called(body({ const: "PUT" }), { body: { [name]: "PUT" } })).refusal).toBeUndefined();
    }
  });

  test("names that no server reads so are free", async () => {
    for (const type of ["application/x-www-form-urlencoded", "application/json"]) {
      const { refusal } = await called(
        { body: [type, { schema: OBJECT }] },
        { body: { http_method: "DELETE", method: "GET" } },
      );
      expect(refusal).toBeUndefined();
    }
  });
});

test("a header of the config, or one that frames the message, is not set by its name with underscores", async () => {
  const names = ["x_api_key", "X_Api-Key", "content_type", "Transfer_Encoding", "HOST"];
  const parameters = names.map((name) => ({ name, in: "header", schema: STRING }));
  for (const name of names) {
    const { refusal } = await called({ headers: { "X-API-Key": "K" }, parameters }, { [name]: "x" });
    expect(refusal).toContain("there is no argument");
  }
});

test("a text in a parameter of JSON is a text to the server, whatever it looks like", async () => {
  for (const content of [
    { "application/json": {} },
    { "application/vnd.x+json": { schema: STRING } },
    { "*/*": {} },
  ]) {
    const { request } = await called(
      { parameters: [query("q", { schema: undefined, content })] },
      { q: '{"env":"prod"}' },
    );
    expect(request?.url).toBe(`/items/7?q=${encodeURIComponent('"{\\"env\\":\\"prod\\"}"')}`);
  }
  const content = { "text/plain": { schema: STRING } };
  const { request } = await called(
    { parameters: [query("q", { schema: undefined, content })] },
    { q: "a b" },
  );
  expect(request?.url).toBe("/items/7?q=a%20b");
});

describe("a value is what the document describes, as everything is text to the server:", () => {
  test.each([
    ["a list where a text is described, of which servers read the last item", STRING, ["dev", "prod"]],
    ["a list where nothing is described", {}, ["prod"]],
    ["a number where a text is described, which a rule on the text does not see", STRING, 5],
    ["a text where a number is described", { type: "integer" }, "5"],
    ["a text where true or false is described", { type: "boolean" }, "true"],
    ["JSON where an object is described", OBJECT, '{"env":"prod"}'],
    ["a list of a nullable text", { type: ["string", "null"] }, ["prod"]],
    ["a list of a choice without lists", { anyOf: [STRING, { type: "integer" }] }, ["prod"]],
  ])("%s", async (_, schema, value) => {
    for (const place of ["query", "header", "cookie"] as const)
      expect(
        (await called({ parameters: [{ ...query("q"), in: place, schema }] }, { q: value })).refusal,
      ).toContain('"q" must');
    const body = [
      "application/x-www-form-urlencoded",
      { schema: { type: "object", properties: { q: schema } } },
    ];
    const operation = { body: body as [string, object] };
    expect((await called(operation, { body: { q: value } })).refusal).toContain('"body.q" must');
  });

  test("a type that JSON has not says nothing", async () => {
    for (const value of ["x", 5])
      expect(
        (await called({ parameters: [query("q", { schema: { type: "date" } })] }, { q: value })).refusal,
      ).toBeUndefined();
  });

  test("numbers, texts, and lists of what is described are sent", async () => {
    const schema = { type: ["string", "number", "boolean", "array", "null"] };
    for (const [value, sent] of [
      [5, "5"],
      ["x", "x"],
      [true, "true"],
      [["a"], "a"],
    ])
      expect((await called({ parameters: [query("q", { schema })] }, { q: value })).request?.url).toBe(
        `/items/7?q=${String(sent)}`,
      );
  });
});

test("a configured name cannot be set by a parameter that some servers read so", async () => {
  const parameters = ["filter", "api.key"].map((name) => query(name, { schema: STRING }));
  const operation = { base: "/?filter[tenant]=1&api_key=SECRET", parameters };
  for (const name of ["filter", "api.key"]) {
    const { refusal } = await called(operation, { [name]: "x" });
    expect(refusal).toContain("must not set");
    expect(refusal).not.toContain("SECRET");
  }
});

describe("a member of JSON cannot set", () => {
  const schema = {
    type: "object",
    properties: { env: STRING, rows: { type: "array", items: { properties: { account: STRING } } } },
  };
  const body = ["application/json", { schema }] as const;

  test.each([
    ["a described one in other case", { ENV: "prod" }],
    ["a described one with a long s or a Kelvin sign", { rowſ: [] }],
    ["a described one in full width", { ｅnv: "prod" }],
    ["a described one beside it", { env: "dev", Env: "prod" }],
    ["a described one in a list", { rows: [{ account: "1" }, { Account: "2" }] }],
    ["the method", { _method: "DELETE" }],
  ])("%s", async (_, given) => {
    expect((await called({ body }, { body: given })).refusal).toContain("must not set");
  });

  test("nothing by a name of its own, which is sent", async () => {
    const { request } = await called({ body }, { body: { env: "x", other: { "[env]": 1, A: 1, a: 2 } } });
    expect(request?.body.toString()).toBe('{"env":"x","other":{"[env]":1,"A":1,"a":2}}');
  });
});
