/** Limits of request bodies before their content is read. */
import { expect, test } from "vitest";
import { echo, fakePort } from "../../support/fake-port.js";
import { modernRequest, raw, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const JSON_TYPE = { "content-type": "application/json" };

test("the largest body that is allowed passes, one byte more is too large", async () => {
  const body = (size: number): string => {
    const frame = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":""}}';
    return frame.replace('""', `"${"x".repeat(size - frame.length)}"`);
  };
  const { url, legacy } = await listening({ listen: { maxBodyBytes: 10_000 } });
  expect((await send(url, { headers: JSON_TYPE, body: body(10_000) })).status).toBe(200);
  const answer = await send(url, { headers: JSON_TYPE, body: body(10_001) });
  expect(answer.status).toBe(413);
  expect(answer.json().error).toMatchObject({ code: -31413, data: { cardea: { code: "too_large" } } });
  expect(legacy.seen).toHaveLength(1);
});

test("a body of no declared length is counted as it comes", async () => {
  const { port, legacy } = await listening({ listen: { maxBodyBytes: 1_000 } });
  const chunk = `1f4\r\n${" ".repeat(500)}\r\n`;
  const heard = await raw(
    port,
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n" +
      `Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}0\r\n\r\n`,
  );
  expect(heard).toMatch(/^HTTP\/1\.1 413 /);
  expect(legacy.seen).toEqual([]);
});

test("a declared length is believed before the first byte is there", async () => {
  const { port } = await listening({ listen: { maxBodyBytes: 1_000 } });
  const heard = await raw(
    port,
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
      "Content-Type: application/json\r\nContent-Length: 1001\r\n\r\n",
  );
  expect(heard).toMatch(/^HTTP\/1\.1 413 /);
});

const nested = (depth: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}}}`;

test("nesting is allowed to 64 levels, and brackets inside strings are no nesting", async () => {
  const { url, legacy } = await listening();
  expect((await send(url, { headers: JSON_TYPE, body: nested(64) })).status).toBe(200);
  const text = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"${"[".repeat(500)}"}}`;
  expect((await send(url, { headers: JSON_TYPE, body: text })).status).toBe(200);
  const answer = await send(url, { headers: JSON_TYPE, body: nested(65) });
  expect([answer.status, answer.json().error]).toMatchObject([400, { code: -32600 }]);
  expect(legacy.seen).toHaveLength(2);
});

test.each([
  ["no JSON", "{", -32700],
  ["nothing", "", -32700],
  ["a byte order mark", '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700],
  ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0x22]), -32700],
  ["no message", "7", -32600],
  ["an empty batch", "[]", -32600],
  ["a method in odd case", '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', -32600],
])("%s is refused, in a small body and in a large one", async (_what, body, code) => {
  const { url, legacy } = await listening();
  for (const sent of [Buffer.from(body), Buffer.concat([Buffer.from(body), Buffer.alloc(300_000, " ")])]) {
    const answer = await send(url, { headers: JSON_TYPE, body: sent });
    expect([answer.status, answer.json().error]).toMatchObject([
      400,
      { code, data: { cardea: { code: "bad_request" } } },
    ]);
  }
  expect(legacy.seen).toEqual([]);
});

test("a large body is nested to 64 levels at most, as a small one is", async () => {
  const { url, legacy } = await listening();
  const padded = (depth: number): string =>
    nested(depth).replace('"a":', `"pad":"${"x".repeat(300_000)}","a":`);
  expect((await send(url, { headers: JSON_TYPE, body: padded(64) })).status).toBe(200);
  const answer = await send(url, { headers: JSON_TYPE, body: padded(65) });
  expect([answer.status, answer.json().error]).toMatchObject([400, { code: -32600 }]);
  expect(legacy.seen).toHaveLength(1);
});

test("a large body arrives character by character", async () => {
  const { url, legacy } = await listening();
  const params = { text: "é€😀\n".repeat(60_000), list: Array.from({ length: 30_000 }, (_, at) => ({ at })) };
  const message = { jsonrpc: "2.0", id: 1, method: "ping", params };
  expect((await send(url, { headers: JSON_TYPE, body: JSON.stringify(message) })).status).toBe(200);
  expect(legacy.seen).toEqual([`post ${JSON.stringify(message)}`]);
});

test("an encoded body is not unpacked", async () => {
  const { url } = await listening();
  const answer = await send(url, { headers: { ...JSON_TYPE, "content-encoding": "gzip" }, body: "{}" });
  expect(answer.status).toBe(415);
});

test("a refused body leaves the connection usable", async () => {
  const { port } = await listening({
    gateway: fakePort({ handlers: { "tools/call": echo } }),
    listen: { maxBodyBytes: 2_000 },
  });
  const { body, headers } = modernRequest("tools/call", { name: "say" });
  const lines = Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const heard = await raw(
    port,
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3000\r\n\r\n${" ".repeat(3000)}` +
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${body.length}\r\n${lines}\r\n${body}`,
  );
  expect(heard).toMatch(/^HTTP\/1\.1 413 /);
  expect(heard).toContain("HTTP/1.1 200 OK");
});

test("keys of Object.prototype are ordinary keys", async () => {
  const gateway = fakePort({ handlers: { "tools/call": echo } });
  const { url } = await listening({ gateway });
  const request = modernRequest("tools/call", { name: "say" });
  const body = request.body.replace(
    '"name":"say"',
    '"name":"say","arguments":{"prototype":{"polluted":1},"constructor":2}',
  );
  const answer = await send(url, { ...request, body });
  expect(answer.text).toContain('{\\"prototype\\":{\\"polluted\\":1},\\"constructor\\":2}');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
