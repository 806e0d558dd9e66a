/** What an HTTP API is asked when a tool is called, and what the host gets of its answer. */
import { describe, expect, test } from "vitest";
import type { GatewayError } from "../../../src/core/errors.js";
import { RESULT_TEXT } from "../../../src/wire/envelope.js";
import { parseJson, writeJson } from "../../../src/wire/json-text.js";
import { type Answer, documentOf, startApi } from "../../support/api.js";
import { TAKES_ALL } from "../../support/sample.js";
import { openApi, type Settings } from "./open-api.js";

const ok = { responses: { 200: { description: "ok" } } };
const STRING = { type: "string" };
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** An API with one operation, called by `call`. */
async function apiWith(
  operation: object,
  { path = "/x", method = "get", answer = {} as Answer, settings = {} as Settings, base = "" } = {},
) {
  const api = await startApi(() => answer);
  const document = documentOf({ [path]: { [method]: { operationId: "op", ...ok, ...operation } } });
  const opened = await openApi(document, { baseUrl: `${api.url}${base}`, ...settings });
  return { ...opened, api, call: (args = {}) => opened.call("op", args) };
}

describe("a request", () => {
  test.each([
    ["simple", false, "/a/1,2/k,v"],
    ["simple", true, "/a/1,2/k=v"],
    ["label", false, "/a/.1,2/.k,v"],
    ["label", true, "/a/.1.2/.k=v"],
    ["matrix", false, "/a/;list=1,2/;object=k,v"],
    ["matrix", true, "/a/;list=1;list=2/;k=v"],
  ])("has its path parameters in style %s, explode %s", async (style, explode, expected) => {
    const parameters = ["list", "object"].map((name) => ({
      name,
      in: "path",
      required: true,
      style,
      explode,
      schema: { type: ["array", "object"] },
    }));
    const { call, api } = await apiWith({ parameters }, { path: "/a/{list}/{object}" });
    await call({ list: [1, 2], object: { k: "v" } });
    expect(api.asked[0]?.url).toBe(expected);
  });

  test.each([
    ["form", true, [1, "a b&c"], "q=1&q=a%20b%26c"],
    ["form", false, [1, "a,b"], "q=1,a%2Cb"],
    ["form", true, { k: "v", n: 1 }, "k=v&n=1"],
    ["form", false, { k: "v" }, "q=k,v"],
    ["spaceDelimited", false, [1, 2], "q=1%202"],
    ["pipeDelimited", false, [1, 2], "q=1%7C2"],
    ["deepObject", true, { a: { b: [1, true] } }, "q[a][b][0]=1&q[a][b][1]=true"],
    ["form", true, "#?&=+ä", "q=%23%3F%26%3D%2B%C3%A4"],
  ])("has its query in style %s, explode %s: %j", async (style, explode, value, expected) => {
    const { call, api } = await apiWith({
      parameters: [
        { name: "q", in: "query", style, explode, schema: { type: ["string", "array", "object"] } },
      ],
    });
    await call({ q: value });
    expect(api.asked[0]?.url).toBe(`/x?${expected}`);
  });

  test.each([
    [{ traceparent: TRACEPARENT, tracestate: "a=1" }, [TRACEPARENT, "a=1"]],
    [{ traceparent: TRACEPARENT, tracestate: "a\r\nb: c" }, [TRACEPARENT, undefined]],
    [{ traceparent: "none\r\nb: c", tracestate: "a=1" }, [undefined, undefined]],
    [undefined, [undefined, undefined]],
  ])("has the trace context %j of the call in its headers, if valid", async (_meta, expected) => {
    const { request, api } = await apiWith({});
    await request("tools/call", { name: "op", arguments: {}, ...(_meta !== undefined && { _meta }) });
    const { traceparent, tracestate, b } = api.asked[0]?.headers ?? {};
    expect([traceparent, tracestate, b]).toEqual([...expected, undefined]);
  });

  test("keeps numbers as they were written", async () => {
    const { call, api } = await apiWith(
      {
        parameters: [{ name: "q", in: "query", schema: {} }],
        requestBody: { content: { "application/json": {} } },
      },
      { method: "post" },
    );
    await call(parseJson('{"q":9007199254740993,"body":{"n":1.0}}') as object);
    expect(api.asked[0]?.url).toBe("/x?q=9007199254740993");
    expect(api.asked[0]?.body.toString()).toBe('{"n":1.0}');
  });

  test("has headers and cookies; configured ones take precedence, and the configured query is added", async () => {
    const { call, api } = await apiWith(
      {
        parameters: [
          { name: "X-Trace", in: "header", schema: { type: "array" } },
          { name: "theme", in: "cookie", schema: STRING },
          { name: "page", in: "query", schema: {} },
        ],
      },
      { base: "/v2/?key=k1", settings: { headers: { authorization: "Bearer t", accept: "text/csv" } } },
    );
    const { api: recorded } = { api };
    await call({ "X-Trace": ["a", "b"], theme: "dark;x", page: 2 });
    expect(recorded.asked[0]).toMatchObject({
      url: "/v2/x?key=k1&page=2",
      headers: { "x-trace": "a,b", cookie: "theme=dark%3Bx", authorization: "Bearer t", accept: "text/csv" },
    });
  });

  test("has a form as its body, styled by the encodings", async () => {
    const content = {
      "application/x-www-form-urlencoded": {
        schema: {
          type: "object",
          properties: { list: { type: "array" }, items: { type: "array", items: { type: "object" } } },
          additionalProperties: true,
        },
        encoding: { items: { style: "deepObject", explode: true } },
      },
    };
    const { call, api } = await apiWith({ requestBody: { content } }, { method: "post" });
    await call({ body: { a: "x y", list: [1, 2], object: { k: 1 }, items: [{ price: "p" }] } });
    expect(api.asked[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(api.asked[0]?.body.toString()).toBe(
      "a=x%20y&list=1&list=2&object=%7B%22k%22%3A1%7D&items[0][price]=p",
    );
  });

  test("has the files of a multipart form as bytes", async () => {
    const schema = {
      type: "object",
      properties: {
        file: { type: "string", format: "binary" },
        meta: { type: "object" },
        name: { type: "string" },
      },
    };
    const { call, api } = await apiWith(
      { requestBody: { content: { "multipart/form-data": { schema } } } },
      { method: "post" },
    );
    await call({ body: { file: Buffer.from([0, 255, 1]).toString("base64"), meta: { a: 1 }, name: "n" } });
    const { headers, body } = api.asked[0] ?? { headers: {}, body: Buffer.alloc(0) };
    const form = await new Response(new Uint8Array(body), {
      headers: { "content-type": String(headers["content-type"]) },
    }).formData();
    expect(new Uint8Array(await (form.get("file") as File).arrayBuffer())).toEqual(
      new Uint8Array([0, 255, 1]),
    );
    expect(form.get("name")).toBe("n");
    expect(String(form.get("meta"))).toBe('{"a":1}');
  });

  test("has bytes as its body", async () => {
    const { call, api } = await apiWith(
      { requestBody: { content: { "application/octet-stream": {} } } },
      { method: "put" },
    );
    await call({ body: "AP8B" });
    expect([...(api.asked[0]?.body ?? [])]).toEqual([0, 255, 1]);
  });
});

describe("arguments that cannot be sent are an error for the model, and no request is sent:", () => {
  const parameters = [
    { name: "id", in: "path", required: true, schema: STRING },
    { name: "X-H", in: "header", schema: STRING },
  ];
  test.each([
    ["a path that leaves its folder", { id: "../admin" }],
    ["dots alone", { id: ".." }],
    ["backslashes", { id: "a\\..\\b" }],
    ["an empty part of the path", { id: "" }],
    ["a missing one", {}],
    ["an unknown one", { id: "1", other: 1 }],
    ["a header with a line break", { id: "1", "X-H": "a\r\nX-Evil: 1" }],
  ])("%s", async (_, args) => {
    const { call, api } = await apiWith({ parameters }, { path: "/x/{id}" });
    expect(await call(args)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("op was not called") }],
    });
    expect(api.asked).toEqual([]);
  });

  test("a list whose parts make dots", async () => {
    const { call, api } = await apiWith(
      { parameters: ["a", "b"].map((name) => ({ name, in: "path", required: true, schema: {} })) },
      { path: "/x/{a}{b}/y" },
    );
    expect(await call({ a: "%2ea", b: "%2e-" })).not.toHaveProperty("isError");
    expect(api.asked[0]?.url).toBe("/x/%252ea%252e-/y");
    for (const dot of [".", "%2e", "%252E"])
      expect(await call({ a: dot, b: "." })).toMatchObject({ isError: true });
  });

  test("slashes and other signs stay in their segment", async () => {
    const { call, api } = await apiWith({ parameters }, { path: "/x/{id}/y" });
    await call({ id: "a/b?c#d%2F;é" });
    expect(api.asked[0]?.url).toBe("/x/a%2Fb%3Fc%23d%252F%3B%C3%A9/y");
  });
});

describe("an answer", () => {
  const JSON_TYPE = { "content-type": "application/json" };
  const called = async (answer: Answer, operation: object = {}) =>
    (await apiWith(operation, { answer, path: "/x" })).call();

  test("of a JSON object is text and structured content", async () => {
    const body = '{"id":9007199254740993}';
    expect(
      await called({ headers: { "content-type": "application/vnd.x+json; charset=utf-8" }, body }),
    ).toEqual({
      resultType: "complete",
      content: [{ type: "text", text: body }],
      structuredContent: parseJson(body),
    });
  });

  test("of any other JSON is text", async () => {
    expect(await called({ headers: JSON_TYPE, body: "[1]" })).toEqual({
      resultType: "complete",
      content: [{ type: "text", text: "[1]" }],
    });
  });

  test("of a long JSON object is parsed whole", async () => {
    const body = JSON.stringify({ rows: Array.from({ length: 20_000 }, (_, n) => ({ n })) });
    expect((await called({ headers: JSON_TYPE, body })).structuredContent).toEqual(JSON.parse(body));
  });

  test.each([
    ["image/png", { type: "image", data: "AP8=", mimeType: "image/png" }],
    ["audio/mpeg", { type: "audio", data: "AP8=", mimeType: "audio/mpeg" }],
    [
      "application/zip",
      {
        type: "resource",
        resource: { uri: expect.stringMatching(/\/x$/), mimeType: "application/zip", blob: "AP8=" },
      },
    ],
  ])("of %s is a block of its kind", async (type, block) => {
    const answer = { headers: { "content-type": type }, body: new Uint8Array([0, 255]) };
    expect((await called(answer)).content).toEqual([block]);
  });

  test("of bytes names its URL without the key that the config adds", async () => {
    const { call } = await apiWith(
      {},
      { base: "/?key=sekret", answer: { headers: { "content-type": "a/b" }, body: "x" } },
    );
    expect(JSON.stringify(await call())).not.toContain("sekret");
  });

  test("without a body says its status", async () => {
    expect((await called({ status: 204 })).content).toEqual([{ type: "text", text: "204 No Content" }]);
  });

  test("in another charset is text", async () => {
    const answer = {
      headers: { "content-type": "text/plain; charset=iso-8859-1" },
      body: new Uint8Array([0xe4]),
    };
    expect((await called(answer)).content).toEqual([{ type: "text", text: "ä" }]);
  });

  test("of 4xx is an error with status and body, which is cut to 4 KiB", async () => {
    const result = await called({ status: 404, headers: JSON_TYPE, body: `{"no":"${"x".repeat(9_000)}"}` });
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0]?.text).toMatch(/^GET \/x answered 404 Not Found:\n\{"no":"x+…$/);
    expect(result.content[0]?.text?.length).toBeLessThan(4_200);
  });

  test("of 401 names the configured credentials", async () => {
    const [block] = (await called({ status: 401, body: "no" })).content;
    expect(block?.text).toContain('"headers" of this server');
  });

  test("of an unexpected redirect is an error, and is not followed", async () => {
    const { call, api } = await apiWith(
      {},
      { answer: { status: 302, headers: { location: "http://169.254.169.254/" } } },
    );
    expect(await call()).toMatchObject({ isError: true });
    expect(api.asked).toHaveLength(1);
  });

  test("of a redirect that the document describes is its address", async () => {
    const answer = { status: 302, headers: { location: "https://files.example/1" } };
    const result = await called(answer, { responses: { 302: { description: "there" } } });
    expect(result.content).toEqual([{ type: "text", text: "302 Found, Location: https://files.example/1" }]);
  });

  test("that is not the documented object is an error for hosts, with the whole body", async () => {
    const promising = {
      responses: { 200: { content: { "application/json": { schema: { type: "object" } } } } },
    };
    const result = await called({ headers: { "content-type": "text/html" }, body: "<p>" }, promising);
    expect(result).toMatchObject({ isError: true });
    expect(result.content.map(({ text }) => text)).toEqual([
      "<p>",
      expect.stringContaining("declares a JSON object"),
    ]);
  });

  test.each([
    [500, "upstream_unavailable", false],
    [503, "upstream_unavailable", true],
    [429, "upstream_unavailable", true],
  ])("of %s is a failure of the server, as for any other", async (status, code, retryable) => {
    const error = (await called({ status, headers: { "retry-after": "7" } }).catch(
      (one: unknown) => one,
    )) as GatewayError;
    expect(error).toMatchObject({ code, retryable, options: { retryAfterMs: 7_000 } });
  });

  test.each([
    [
      "an object of very many members",
      "application/json",
      `{${Array.from({ length: TAKES_ALL ? 300_000 : 60_000 }, (_, at) => `"k${at}":${at}.0`).join()}}`,
    ],
    [
      "an object on many lines, with text that needs escapes",
      "application/json",
      `{\n\t"rows": [${`"\\"ä😀\\n",\n`.repeat(20_000)} 1e400]\n}\n`,
    ],
    ["a list", "application/json", `[${"{},".repeat(50_000)}1]`],
    ["text with emoji and quotes", "text/plain", 'a"😀\n'.repeat(50_000)],
    ["text with odd characters at each place", "text/plain", "😀".repeat(70_000).slice(1)],
  ])("that is %s is written in steps, as it would be at once", async (_what, type, body) => {
    const { request } = await apiWith({}, { answer: { headers: { "content-type": type }, body } });
    const message = await request("tools/call", { name: "op", arguments: {} });
    const text = String(message[RESULT_TEXT]);
    expect(text.startsWith('{"resultType":"complete",')).toBe(true);
    expect(writeJson(parseJson(text))).toBe(writeJson(message.result));
  });

  test("that is too long is refused", async () => {
    const body = Buffer.alloc(65 * 1024 * 1024);
    await expect(called({ headers: { "content-type": "text/plain" }, body })).rejects.toMatchObject({
      code: "too_large",
    });
  });
});

test("a cancelled call ends its request", async () => {
  const api = await startApi(() => ({}));
  const { call } = await openApi(documentOf({ "/x": { get: { operationId: "op", ...ok } } }), {
    baseUrl: api.url,
  });
  await expect(call("op", {}, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  expect(api.asked).toEqual([]);
});

test("an API that cannot be reached is an unavailable server", async () => {
  const { call } = await openApi(documentOf({ "/x": { get: { operationId: "op", ...ok } } }));
  await expect(call("op")).rejects.toMatchObject({ code: "upstream_unavailable", retryable: true });
});

test("an unknown tool and an unknown method are refused as any server does", async () => {
  const { request } = await openApi(documentOf({}));
  expect((await request("tools/call", { name: "none" })).error?.code).toBe(-32602);
  expect((await request("prompts/list")).error?.code).toBe(-32601);
});
