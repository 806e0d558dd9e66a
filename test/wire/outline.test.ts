/** Messages of servers with more members than the gateway can handle at once are refused, and only these. */
import { describe, expect, test } from "vitest";
import { FRAME_FAULT, FrameError, RESULT_TEXT } from "../../src/wire/envelope.js";
import { readMessagesInSteps } from "../../src/wire/message.js";
import { sample, TAKES_ALL } from "../support/sample.js";

function read(message: unknown) {
  const steps = readMessagesInSteps(
    Buffer.from(typeof message === "string" ? message : JSON.stringify(message)),
  );
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function refusal(message: unknown): FrameError {
  try {
    read(message);
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  throw new Error("it was read");
}

const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
/** More than any limit. */
const MANY = keys(TAKES_ALL ? 300_000 : 70_000);
const RESPONSE = { jsonrpc: "2.0", id: 7 };

describe("a message of a server with very many members", () => {
  test.each(
    sample<readonly [string, object, string]>(
      "places of many members",
      [
        ["of a result", { ...RESPONSE, result: MANY }, "result has more than 16384 members"],
        [
          "of its metadata",
          { ...RESPONSE, result: { _meta: MANY } },
          "result._meta has more than 16384 members",
        ],
        [
          "of the message itself",
          { ...RESPONSE, result: {}, ...MANY },
          "the message has more than 16384 members",
        ],
        [
          "of capabilities",
          { ...RESPONSE, result: { capabilities: MANY } },
          "result.capabilities has more than",
        ],
        [
          "of content",
          { ...RESPONSE, result: { content: Object.keys(MANY) } },
          "result.content has more than",
        ],
        [
          "of a read",
          { ...RESPONSE, result: { contents: Object.keys(MANY) } },
          "result.contents has more than",
        ],
        [
          "of a prompt",
          { ...RESPONSE, result: { messages: Object.keys(MANY) } },
          "result.messages has more than",
        ],
        [
          "of questions",
          { result: { inputRequests: MANY }, ...RESPONSE },
          "result.inputRequests has more than",
        ],
        ["of an error", { ...RESPONSE, error: { code: 1, message: "no", ...MANY } }, "error has more than"],
        [
          "of the data of an error",
          { ...RESPONSE, error: { code: 1, message: "no", data: MANY } },
          "65536 values",
        ],
        [
          "deep in the data of an error",
          { error: { code: 1, message: "", data: [[[MANY]]] }, ...RESPONSE },
          "values",
        ],
      ],
      5,
    ),
  )("%s is refused, and answers its call", (_where, message, why) => {
    const error = refusal(message);
    expect(error).toMatchObject({ code: -32600, id: 7 });
    expect(error.message).toContain(why);
  });

  test.each(
    sample<readonly [string, object]>(
      "places in requests",
      [
        ["of its parameters", { params: MANY }],
        ["of its metadata", { params: { _meta: MANY } }],
        ["deep in its parameters", { params: { messages: [{ content: { data: [MANY] } }] } }],
        ["in a list of its parameters", { params: { list: Object.keys(MANY) } }],
      ],
      2,
    ),
  )("%s is answered with an error where it is a request", (_where, rest) => {
    const [request] = read({ jsonrpc: "2.0", id: 3, method: "sampling/createMessage", ...rest });
    expect(request).toMatchObject({ id: 3, method: "sampling/createMessage" });
    expect((request as { [FRAME_FAULT]?: FrameError })[FRAME_FAULT]?.code).toBe(-32600);
  });

  test("is refused as a notification, and the other messages of its batch are read", () => {
    const big = { jsonrpc: "2.0", method: "notifications/message", params: { data: MANY } };
    const small = { jsonrpc: "2.0", method: "notifications/message", params: { data: 1 } };
    const [first, second, third] = read([small, big, small]);
    expect([first, third]).toEqual([small, small]);
    expect(second).toBeInstanceOf(FrameError);
  });

  test.each([
    ["structured content", { structuredContent: MANY }],
    ["a member that the gateway does not know", { rows: { page: MANY } }],
    ["a list", { content: [], structuredContent: { rows: Object.keys(MANY).map((text) => ({ text })) } }],
    ["the entries of a list", { resources: Object.keys(MANY).map((uri) => ({ uri })) }],
  ])("is read where they are in %s of a result, which is passed on as it is", (_where, result) => {
    const [message] = read({ ...RESPONSE, result });
    expect(message).toMatchObject({ id: 7 });
    const text = (message as { [RESULT_TEXT]?: string | Buffer })[RESULT_TEXT];
    expect(String(text)).toBe(JSON.stringify(result));
  });
});

test("a long response that is nested too deeply fails its call, wherever its id is", () => {
  const deep = `"result":{"a":${"[".repeat(600)}${"]".repeat(600)},"text":"${"a".repeat(100_000)}"}`;
  expect(refusal(`{"jsonrpc":"2.0","id":7,${deep}}`).id).toBe(7);
  expect(refusal(`{${deep},"jsonrpc":"2.0","id":"7"}`).id).toBe("7");
  // A request of the server has an id of its own.
  expect(refusal(`{"jsonrpc":"2.0","method":"ping","id":7,${deep}}`).id).toBeUndefined();
  expect(refusal(`{"jsonrpc":"2.0","m\\u0065thod":"ping","id":7,${deep}}`).id).toBeUndefined();
});

test("a response with more than a million objects and lists fails its call before it is parsed", () => {
  const lists = Array.from({ length: 3_000 }, () => "[".repeat(400) + "]".repeat(400)).join(",");
  const result = `"result":{"content":[],"structuredContent":{"rows":[${lists}]}}`;
  for (const text of [`{"jsonrpc":"2.0","id":7,${result}}`, `{${result},"id":7,"jsonrpc":"2.0"}`]) {
    expect(refusal(text)).toMatchObject({
      id: 7,
      message: "the message has more than 1000000 objects and lists",
    });
  }
  const rows = Array.from({ length: 400_000 }, () => "{}").join(",");
  expect(read(`{"jsonrpc":"2.0","id":7,"result":{"rows":[${rows}]}}`)).toMatchObject([{ id: 7 }]);
});
