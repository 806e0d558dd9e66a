/** One request is one request, for the gateway and for a proxy in front: no body hides another one. */
import { expect, test } from "vitest";
import { raw, send } from "../support/http-host.js";
import { listening } from "../support/listening.js";

const HIDDEN_BODY = '{"jsonrpc":"2.0","id":666,"method":"smuggled"}';
const HIDDEN = [
  "POST /mcp HTTP/1.1",
  "Host: localhost",
  "Content-Type: application/json",
  `Content-Length: ${HIDDEN_BODY.length}`,
  "",
  HIDDEN_BODY,
].join("\r\n");
const BODY = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const CHUNKED = `${chunk(BODY)}0\r\n\r\n`;

/** A request with these lines in its head, `body`, and another request right behind. */
const post = (lines: readonly string[], body: string): string =>
  ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", ...lines, "", body].join(
    "\r\n",
  ) + HIDDEN;
const length = (text: string): string => `Content-Length: ${text.length}`;

/** Two parsers may disagree on where these end. */
const AMBIGUOUS: readonly (readonly [string, string])[] = [
  [
    "a length that ends before the chunks",
    post([length("0\r\n\r\n"), "Transfer-Encoding: chunked"], CHUNKED),
  ],
  [
    "chunks that end before the length",
    post(["Transfer-Encoding: chunked", length(BODY + HIDDEN)], `0\r\n\r\n`),
  ],
  ["a coding that nobody knows", post(["Transfer-Encoding: xchunked", length(BODY)], BODY)],
  ["a coding twice", post(["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], CHUNKED)],
  ["another coding behind chunked", post(["Transfer-Encoding: chunked, identity"], CHUNKED)],
  ["no coding at all, but a length", post(["Transfer-Encoding: identity", length(BODY)], BODY)],
  ["a space before the colon", post(["Transfer-Encoding : chunked", length(BODY)], BODY)],
  ["a vertical tab before the coding", post(["Transfer-Encoding: \vchunked", length(BODY)], BODY)],
  ["a coding behind a lone line feed", post([`X: x\nTransfer-Encoding: chunked`, length(BODY)], BODY)],
  ["a coding behind a lone carriage return", post([`X: x\rTransfer-Encoding: chunked`, length(BODY)], BODY)],
  ["a folded line", post(["X: x", " Transfer-Encoding: chunked", length(BODY)], BODY)],
  ["a name in quotes", post(['"Transfer-Encoding": chunked', length(BODY)], BODY)],
  ["two lengths", post([length(BODY), "Content-Length: 0"], BODY)],
  ["two lengths in one line", post([`${length(BODY)}, 0`], BODY)],
  ["a length with a sign", post([`Content-Length: +${BODY.length}`], BODY)],
  ["a length below nothing", post(["Content-Length: -1"], BODY)],
  ["a length in hexadecimal", post([`Content-Length: 0x${BODY.length.toString(16)}`], BODY)],
  ["a length with an exponent", post(["Content-Length: 4e1"], BODY)],
  ["a length beyond all numbers", post(["Content-Length: 18446744073709551656"], BODY)],
  ["a chunk with a sign", post(["Transfer-Encoding: chunked"], `+28\r\n${BODY}\r\n0\r\n\r\n`)],
  [
    "a chunk beyond all numbers",
    post(["Transfer-Encoding: chunked"], `100000000000000028\r\n${BODY}\r\n0\r\n\r\n`),
  ],
  ["a chunk in other digits", post(["Transfer-Encoding: chunked"], `0x28\r\n${BODY}\r\n0\r\n\r\n`)],
  [
    "a chunk whose extension has a line feed",
    post(["Transfer-Encoding: chunked"], `28;x\n${BODY}\r\n0\r\n\r\n`),
  ],
  ["a chunk that is longer than it says", post(["Transfer-Encoding: chunked"], `5\r\n${BODY}\r\n0\r\n\r\n`)],
  ["a zero in a value", post(["X: a\0b", length(BODY)], BODY)],
  ["a line without a colon", post(["X", length(BODY)], BODY)],
  ["a head of lone line feeds", post([length(BODY)], BODY).replaceAll("\r\n", "\n")],
  ["the oldest HTTP", `GET /mcp\r\n${HIDDEN}`],
];

test.each(AMBIGUOUS)(
  "%s: the connection ends with an error, and no smuggled request is served",
  async (_what, bytes) => {
    const { port, url, legacy } = await listening();
    const heard = await raw(port, bytes);
    expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    expect(heard).not.toContain("200 OK");
    expect(legacy.seen.join()).not.toContain("smuggled");
    expect(legacy.seen.length).toBeLessThanOrEqual(1);
    // And other clients are not affected.
    const headers = { "content-type": "application/json" };
    expect((await send(url, { headers, body: BODY })).status).toBe(200);
  },
);

test("unambiguous pipelined requests are served one after the other", async () => {
  const { port, legacy } = await listening();
  const last = HIDDEN.replace("Host: localhost", "Host: localhost\r\nConnection: close");
  for (const [lines, body] of [
    [[length(BODY)], BODY],
    [["Transfer-Encoding: chunked"], CHUNKED],
  ] as const) {
    const heard = await raw(port, post(lines, body).replace(HIDDEN, last));
    expect(heard.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  }
  expect(legacy.seen).toHaveLength(4);
});

test.each([
  [
    "another protocol",
    ["Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQAAP__"],
  ],
  [
    "a socket",
    ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="],
  ],
  ["something unheard of", ["Expect: the-unexpected"]],
])("a request for %s gets no tunnel", async (_what, lines) => {
  const { port, legacy } = await listening();
  const bytes = post([...lines, length(BODY)], BODY)
    .replace(HIDDEN, "")
    .replace("Host:", "Connection: close\r\nHost:");
  const heard = await raw(port, bytes);
  expect(heard).not.toMatch(/^HTTP\/1\.1 101/);
  expect(legacy.seen.length).toBeLessThanOrEqual(1);
});
