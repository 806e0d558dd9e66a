/** Members that set a prototype where JavaScript copies them are refused in answers of APIs. */
import { describe, expect, test } from "vitest";
import { SETTERS } from "../../security/prototype-setters.js";
import { type Answer, documentOf, startApi } from "../../support/api.js";
import { sample } from "../../support/sample.js";
import { openApi } from "./open-api.js";

describe("an OpenAPI server", () => {
  const ok = { responses: { 200: { description: "ok" } } };
  const answering = async (answer: Answer) => {
    const api = await startApi(() => answer);
    return openApi(documentOf({ "/x": { get: { operationId: "op", ...ok } } }), { baseUrl: api.url });
  };
  const json = { "content-type": "application/json" };

  test.each(sample("setters of an API", SETTERS, 4))("may not answer with %s as an object", async (body) => {
    for (const text of [body, `{"filler":"${"x".repeat(100_000)}","a":[${body}]}`]) {
      const { call } = await answering({ headers: json, body: text } as Answer);
      await expect(call("op", {})).rejects.toThrow("sets a prototype");
    }
  });

  test("may answer with a text that has such a member", async () => {
    const { call } = await answering({
      headers: { "content-type": "text/plain" },
      body: '{"__proto__":{}}',
    } as Answer);
    expect(await call("op", {})).toMatchObject({ content: [{ text: '{"__proto__":{}}' }] });
  });
});
