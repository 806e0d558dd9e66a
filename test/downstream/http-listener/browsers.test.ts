/** What pages of an allowed origin may do, and pages of any other may not. */
import { expect, test } from "vitest";
import { send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const app = "https://app.example.com";
const listen = { allowedOrigins: [app] };

test("a preflight allows the methods and headers of both eras, and no others", async () => {
  const { url } = await listening({ listen });
  const asked = "content-type, mcp-method,Mcp-Param-Region, x-evil, mcp-param-a:b, cookie";
  const answer = await send(url, {
    method: "OPTIONS",
    headers: {
      origin: app,
      "access-control-request-method": "POST",
      "access-control-request-headers": asked,
    },
  });
  expect(answer.status).toBe(204);
  expect(answer.headers).toMatchObject({
    "access-control-allow-origin": app,
    "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
    "access-control-allow-headers": "content-type, mcp-method, mcp-param-region",
    vary: "Origin",
  });
  expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
});

test("an answer can be read by the page that asked, refusals too", async () => {
  const { url } = await listening({ listen });
  for (const body of ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "{"]) {
    const { headers } = await send(url, {
      headers: { origin: app, "content-type": "application/json" },
      body,
    });
    expect(headers["access-control-allow-origin"]).toBe(app);
    expect(headers["access-control-expose-headers"]).toContain("Mcp-Session-Id, MCP-Protocol-Version");
  }
});

test("a foreign origin's preflight gets no CORS headers", async () => {
  const { url } = await listening({ listen });
  const answer = await send(url, {
    method: "OPTIONS",
    headers: { origin: "https://evil.example.com", "access-control-request-method": "POST" },
  });
  expect(answer.status).toBe(403);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
});

test("requests without an Origin get no CORS headers", async () => {
  const { url } = await listening({ listen });
  const { headers } = await send(url, { method: "GET" });
  expect(headers["access-control-allow-origin"]).toBeUndefined();
});
