/** The most ordinary call there is, from end to end of this edge. */
import { expect, test } from "vitest";
import { echo, fakePort } from "../../support/fake-port.js";
import { modernRequest, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

test("a tool call is answered with one JSON object", async () => {
  const gateway = fakePort({ handlers: { "tools/call": echo } });
  const { url } = await listening({ gateway });
  const answer = await send(
    url,
    modernRequest("tools/call", { name: "say", arguments: { a: 1 } }, { id: "x" }),
  );
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(answer.json()).toEqual({
    jsonrpc: "2.0",
    id: "x",
    result: {
      content: [{ type: "text", text: 'say {"a":1}' }],
      resultType: "complete",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "cardea", version: "0.0.0-test" } },
    },
  });
});
