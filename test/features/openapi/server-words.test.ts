/** The words of an API that fails are quoted, as those of other servers are. */
import { expect, test } from "vitest";
import { documentOf, startApi } from "../../support/api.js";
import { openApi } from "./open-api.js";

const JSON_TYPE = "application/json";

test("they are quoted when an API fails, and when it has no document", async () => {
  const answer = {
    status: 503,
    headers: { "content-type": JSON_TYPE },
    body: '{"detail":"in maintenance"}',
  };
  const api = await startApi(({ url }) => (url === "/api.json" ? { ...answer, status: 403 } : answer));
  const words = 'it says: "in maintenance"';
  const ok = { responses: { 200: { description: "ok" } } };
  const { call } = await openApi(documentOf({ "/x": { get: { operationId: "op", ...ok } } }), {
    baseUrl: api.url,
  });
  await expect(call("op")).rejects.toThrow(words);
  await expect(openApi({}, { document: { url: `${api.url}/api.json` } })).rejects.toThrow(words);
});
