import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { type Envelope, FRAME_FAULT, FrameError, messagesIn, RESULT_TEXT } from "../../src/wire/envelope.js";
import { looksLikeMessage, readMessages, readMessagesInSteps } from "../../src/wire/message.js";

const read = (text: string) => readMessages(Buffer.from(text));
const first = (document: Buffer | string) => messagesIn(readMessages(document))[0];

function refusal(text: string): FrameError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  throw new Error("it was read");
}

test("a message comes as it is, unknown members included", () => {
  const message = { jsonrpc: "2.0", id: 1, result: { x: { y: [null] } }, vendor: "z" };
  // Written out again, so that the text that is kept beside it does not count.
  expect(JSON.parse(JSON.stringify(read(JSON.stringify(message))))).toEqual([message]);
});

test("a byte order mark before it does no harm", () => {
  const text = '\ufeff{"jsonrpc":"2.0","method":"a"}';
  expect(looksLikeMessage(Buffer.from(text))).toBe(true);
  expect(read(text)).toEqual([{ jsonrpc: "2.0", method: "a" }]);
});

test.each([
  ["a word", "listening on port 3000, ready"],
  ["a coloured word", "\u001b[32mready\u001b[0m and waiting"],
  ["nothing but space", " ".repeat(40)],
  ["too little", '{"a":1}'],
])("%s is distinguished from a message without parsing it", (_what, line) => {
  expect(looksLikeMessage(Buffer.from(line))).toBe(false);
});

test("a batch is several messages", () => {
  expect(read('[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{}}]')).toHaveLength(2);
});

test("an error with a null id has no id", () => {
  const error = { code: -32700, message: "no" };
  expect(read(JSON.stringify({ jsonrpc: "2.0", id: null, error }))).toEqual([{ jsonrpc: "2.0", error }]);
});

test("a member named __proto__ makes a response invalid, and sets nothing", () => {
  const text = '{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"polluted":1}}}';
  expect(() => first(text)).toThrow('"result.__proto__" sets a prototype');
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test("a bad byte in a text costs that character and not the answer", () => {
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"a?b"}}');
  bytes[bytes.indexOf("?")] = 0xff;
  expect(first(bytes)?.result).toEqual({ text: "a\ufffdb" });
});

describe("what is no message is refused:", () => {
  test.each([
    ["no JSON", "{]", -32700],
    ["nothing", "", -32700],
    ["a number", "1", -32600],
    ["another object", '{"level":30,"msg":"started"}', -32600],
    [
      "an answer with result and error",
      '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
      -32600,
    ],
  ])("%s", (_, text, code) => {
    expect(refusal(text).code).toBe(code);
  });
});

test("an invalid member of a batch is reported in its place, and the others are read", () => {
  const [a, bad, junk, b] = read(
    '[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":7,"result":"done"},3,{"jsonrpc":"2.0","id":1,"result":{}}]',
  );
  expect(a).toEqual({ jsonrpc: "2.0", method: "a" });
  expect(bad).toBeInstanceOf(FrameError);
  expect(bad).toMatchObject({ code: -32600, id: 7 });
  expect(junk).toMatchObject({ code: -32600, id: undefined });
  expect(b).toMatchObject({ id: 1, result: {} });
});

const deepParams = `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":${"[".repeat(600)}${"]".repeat(600)}}}`;

test.each([
  ["look-alike params", '{"jsonrpc":"2.0","id":7,"method":"ping","Params":{}}', "ping"],
  ["a look-alike method", '{"jsonrpc":"2.0","id":7,"Method":"ping"}', ""],
  ["a method that is no text", '{"jsonrpc":"2.0","id":7,"method":5}', ""],
  ["params that are a list", '{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', "ping"],
  ["a result beside its method", '{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}', "ping"],
  ["no version", '{"id":7,"method":"ping"}', "ping"],
  ["too many levels", deepParams, "ping"],
])("a request with %s comes as one that can only be refused, alone and in a batch", (_what, text, method) => {
  for (const document of [text, `[${text}]`]) {
    const message = first(document);
    expect(message).toMatchObject({ id: 7, method, [FRAME_FAULT]: { code: -32600, id: 7 } });
    expect(message?.params).toBeUndefined();
  }
});

test("an invalid response has its id, an invalid request without a usable id has none", () => {
  expect(refusal('{"jsonrpc":"2.0","id":7,"result":"done"}').id).toBe(7);
  expect(refusal('{"id":"x","result":{}}').id).toBe("x");
  expect(refusal('{"jsonrpc":"2.0","id":[7],"method":"ping","params":[]}').id).toBeUndefined();
  expect(refusal('{"jsonrpc":"2.0","method":"ping","params":[]}').id).toBeUndefined();
});

test("an answer nested too deeply is refused by its id, before anything recurses into it", () => {
  const deep = (depth: number): string =>
    `{"jsonrpc":"2.0","id":3,"result":{"x":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
  expect(read(deep(500))).toHaveLength(1);
  expect(refusal(deep(20_000))).toMatchObject({ code: -32600, id: 3 });
});

describe("a long document that is read in steps", () => {
  function inSteps(document: Buffer): ReturnType<typeof readMessages> {
    const reading = readMessagesInSteps(document);
    for (;;) {
      const step = reading.next();
      if (step.done === true) return step.value;
    }
  }

  const long = { text: "né\n".repeat(50_000), list: Array.from({ length: 20_000 }, (_, at) => [at, 1.5]) };

  test.each([
    ["a response", { jsonrpc: "2.0", id: 7, result: long }],
    ["a response of ASCII", { jsonrpc: "2.0", id: 7, result: { text: "n\n".repeat(90_000) } }],
    [
      "a batch",
      [
        { jsonrpc: "2.0", method: "a", params: long },
        { jsonrpc: "2.0", id: 1, result: {} },
        { jsonrpc: "2.0" },
      ],
    ],
    [
      "an error without an id",
      { jsonrpc: "2.0", id: null, error: { code: -32700, message: "no", data: long } },
    ],
  ])("is what it is when it is read at once: %s", (_what, message) => {
    for (const mark of ["", "\ufeff"]) {
      const document = Buffer.from(mark + JSON.stringify(message));
      const [read, whole] = [inSteps(document), readMessages(document)];
      // The text of a result is a symbol's value, and long.
      expect(isDeepStrictEqual(read, whole)).toBe(true);
      const texts = [read, whole].map((it) => messagesIn(it).map((each) => each[RESULT_TEXT]));
      expect(isDeepStrictEqual(texts[0], texts[1])).toBe(true);
    }
  });

  test("is refused where it is no JSON, and where it is nested too deeply", () => {
    const text = JSON.stringify({ jsonrpc: "2.0", id: 7, result: long });
    expect(() => inSteps(Buffer.from(text.slice(0, -1)))).toThrow(
      expect.objectContaining({ name: "FrameError", code: -32700 }),
    );
    const deep = text.replace('"list":', `"deep":${"[".repeat(520)}${"]".repeat(520)},"list":`);
    expect(() => inSteps(Buffer.from(deep))).toThrow(
      expect.objectContaining({ name: "FrameError", code: -32600 }),
    );
  });
});

describe("the result of a long document that is not ASCII", () => {
  const read = (bytes: Buffer) => {
    const steps = readMessagesInSteps(bytes);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value[0] as Envelope;
    }
  };
  const result = { text: `${"é😀".repeat(20_000)} "]} \\` };
  const document = (head: string, tail: string): string =>
    `{"jsonrpc":"2.0",${head}"result":${JSON.stringify(result)}${tail}}`;

  test.each([
    ["plain", document('"id":1,', "")],
    ["with members behind it", document('"note":"ä😀",', ',"id":1,"more":"ü"')],
    ["behind a byte order mark", `\ufeff${document('"id":1,', "")}`],
  ])("is kept as the bytes that were received: %s", (_what, text) => {
    const bytes = Buffer.from(text);
    const message = read(bytes);
    expect(message.result).toEqual(result);
    const kept = message[RESULT_TEXT];
    expect(Buffer.isBuffer(kept) && kept.buffer === bytes.buffer).toBe(true);
    expect(JSON.parse(String(kept))).toEqual(result);
  });

  test("is valid text also where the bytes are not", () => {
    const bytes = Buffer.from(document('"id":1,', ""));
    bytes[1_000] = 0xff;
    const kept = read(bytes)[RESULT_TEXT];
    expect(typeof kept).toBe("string");
    expect(JSON.parse(String(kept))).toEqual(read(bytes).result);
  });
});
