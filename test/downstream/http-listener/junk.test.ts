/** Requests that no client sends on purpose; none may reach an edge, and none may harm the listener. */
import { expect, test } from "vitest";
import { raw, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const BODY = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const post = (head: string, body = BODY): string =>
  `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

test.each([
  ["a Host with a space", post("POST /mcp HTTP/1.1\r\nHost: local host")],
  ["a Host with credentials", post("POST /mcp HTTP/1.1\r\nHost: user@localhost")],
  ["a Host with a path", post("POST /mcp HTTP/1.1\r\nHost: localhost/evil.example.com")],
  ["a Host that is half an address", post("POST /mcp HTTP/1.1\r\nHost: [::1")],
  ["an empty Host", post("POST /mcp HTTP/1.1\r\nHost:")],
  ["a path with a backslash", post("POST /mcp\\..\\admin HTTP/1.1\r\nHost: localhost")],
  ["a path that climbs", post("POST /mcp/../../etc HTTP/1.1\r\nHost: localhost")],
  ["an encoded path that climbs", post("POST /mcp/%2e%2e%2fetc HTTP/1.1\r\nHost: localhost")],
  ["a broken escape", post("POST /mcp/%zz HTTP/1.1\r\nHost: localhost")],
  ["an authority for a target", post("POST //evil.example.com/mcp HTTP/1.1\r\nHost: localhost")],
  ["an asterisk for a target", post("OPTIONS * HTTP/1.1\r\nHost: localhost")],
  ["a tunnel", "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ["two lengths", post("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3")],
  ["a length and chunks", post("POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked")],
  ["a method nobody knows", post("BREW /mcp HTTP/1.1\r\nHost: localhost")],
  ["too many headers", post(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}`)],
  ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n"],
])("%s", async (_what, bytes) => {
  const { url, port, legacy } = await listening();
  const heard = await raw(port, bytes);
  expect(heard).not.toMatch(/^HTTP\/1\.1 [25]/);
  expect(legacy.seen).toEqual([]);
  expect((await send(url, { headers: { "content-type": "application/json" }, body: BODY })).status).toBe(200);
});
