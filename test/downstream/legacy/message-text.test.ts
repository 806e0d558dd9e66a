/** Answers that together are longer than a text can be are written in pieces. */
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { sendJson } from "../../../src/downstream/edge.js";
import { arrayOf, type MessageText, ownText } from "../../../src/downstream/legacy/messages.js";

const textOf = (text: MessageText): string =>
  typeof text === "string" ? text : text.map((piece) => piece.toString()).join("");

test("the array of a batch is one JSON document, whatever its messages are made of", () => {
  const bytes = Buffer.from('{"b":2}');
  expect(textOf(arrayOf([]))).toBe("[]");
  expect(textOf(arrayOf(['{"a":1}']))).toBe('[{"a":1}]');
  expect(textOf(arrayOf(['{"a":1}', [bytes], ['{"c"', ":3}"]]))).toBe('[{"a":1},{"b":2},{"c":3}]');
  expect(arrayOf(['{"a":1}', [bytes]])).toContain(bytes);
});

test("a message that is kept is one string, or bytes that keep nothing else of what was received", () => {
  const received = Buffer.alloc(1_000_000, "x");
  const most = received.subarray(0, 900_000);
  const part = received.subarray(0, 100_000);
  expect(ownText('{"a":1}')).toBe('{"a":1}');
  expect(ownText(["{", received.subarray(0, 3), "}"])).toBe("{xxx}");
  expect(ownText(["{", most, "}"])[1]).toBe(most);
  const [, copied] = ownText(["{", part, "}"]) as readonly [string, Buffer, string];
  expect(copied.equals(part)).toBe(true);
  expect(copied.buffer.byteLength).toBe(100_000);
});

test("a batch whose responses exceed the maximum string length is still written", () => {
  const longest = 2 ** 29 - 24;
  const message = `"${"x".repeat(20_000_000)}"`;
  const messages = Array.from({ length: Math.ceil(longest / message.length) + 1 }, () => message);
  let written = 0;
  let declared = "";
  const response = {
    writeHead: (_status: number, headers: readonly string[]) => {
      declared = headers[3] ?? "";
    },
    write: (piece: string | Buffer) => {
      written += piece.length;
    },
    cork: () => {},
    uncork: () => {},
    end: () => {},
  };
  const array = arrayOf(messages);
  sendJson(response as unknown as ServerResponse, 200, typeof array === "string" ? [array] : array);
  expect(written).toBe(messages.length * (message.length + 1) + 1);
  expect(written).toBeGreaterThan(longest);
  expect(declared).toBe(String(written));
});
