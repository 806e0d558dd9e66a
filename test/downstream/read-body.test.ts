/** How the bodies of HTTP requests are read: one chunk of the large ones in each turn of the event loop. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readBody } from "../../src/downstream/read-body.js";

const CHUNK = 64 * 1024;
const LIMIT = 4 * 1024 * 1024;

/** A request whose chunks are there already. `declared`: its Content-Length. */
function request(chunks: readonly Buffer[], declared?: number): IncomingMessage {
  const headers = declared === undefined ? {} : { "content-length": String(declared) };
  return Object.assign(Readable.from(chunks, { objectMode: false }), {
    headers,
  }) as unknown as IncomingMessage;
}

const text = (chunks: number, character: string): string =>
  character.repeat(chunks * CHUNK).slice(0, chunks * CHUNK);
const pieces = (body: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(body.length / CHUNK) }, (_, at) =>
    body.subarray(at * CHUNK, (at + 1) * CHUNK),
  );

test.each([
  ["ASCII", text(10, "a")],
  ["characters that chunks cut in two", text(3, "é€😀")],
])("a large body of %s is read whole, with and without a Content-Length", async (_what, sent) => {
  const body = Buffer.from(sent);
  expect(await readBody(request(pieces(body), body.length), LIMIT)).toBe(sent);
  expect(await readBody(request(pieces(body)), LIMIT)).toBe(sent);
});

test("of several large bodies at once, one chunk is read in each turn of the event loop", async () => {
  const body = Buffer.from(text(20, "a"));
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const count = (): void => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(count);
  };
  const uploads = Array.from({ length: 5 }, () => request(pieces(body), body.length));
  const texts = uploads.map((upload) => readBody(upload, LIMIT));
  // The first chunk of each comes before its size is known.
  await new Promise((resolve) => setImmediate(resolve));
  for (const upload of uploads)
    upload.on("data", () => {
      inTurn += 1;
    });
  count();
  for (const each of await Promise.all(texts)) expect(each).toHaveLength(20 * CHUNK);
  isOver = true;
  expect(most).toBe(1);
});

test("a large body that is cut off is cancelled, and its text is not waited for", async () => {
  const upload = request(pieces(Buffer.from(text(20, "a"))), 20 * CHUNK);
  const reading = readBody(upload, LIMIT);
  upload.destroy(new Error("aborted"));
  await expect(reading).rejects.toMatchObject({ code: "cancelled" });
});

test("a large body without a Content-Length is refused where it passes the limit", async () => {
  const reading = readBody(request(pieces(Buffer.from(text(20, "a")))), 10 * CHUNK);
  await expect(reading).rejects.toMatchObject({ code: "too_large" });
});
