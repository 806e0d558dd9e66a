/** What conversations are, how long they are remembered, and when their memory has gaps. */
import { describe, expect, test } from "vitest";
import type { Call } from "../../../src/core/call.js";
import { callNotes } from "../../../src/core/call-record.js";
import { Adoption } from "../../../src/core/client.js";
import { principalOf } from "../../../src/core/principal.js";
import type { FeatureMessages } from "../../../src/core/replicas.js";
import { Conversations } from "../../../src/features/flow/conversations.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { clientOf, toolCall } from "../../support/calls.js";
import { fakeTime, pass } from "../../support/fake-time.js";

fakeTime();

const PRIVATE = { private: true, untrusted: false };
const DAY = 86_400_000;

const inSession = (affinity: string, more: object = {}): Call =>
  toolCall("files", "read", {}, { client: clientOf({ affinity, session: true, ...more }) });

/** A call of a host without a session, over HTTP. */
function inTrace(id: number | undefined, principal = "ann"): Call {
  const client = clientOf({ session: false, principal: principalOf("key", principal) });
  const traceparent = `00-${(id ?? 0).toString(16).padStart(32, "b")}-00f067aa0ba902b7-01`;
  const record = callNotes(1, { revision: "any", isHttp: true });
  return toolCall(
    "files",
    "read",
    {},
    {
      ...{ client, record },
      params: { name: "files__read", ...(id !== undefined && { _meta: { traceparent } }) },
    },
  );
}

/** Those of two processes that reach each other. */
function processes(): readonly [Conversations, Conversations] {
  const answers: ((message: JsonObject) => JsonObject)[] = [];
  const messagesOf = (own: number): FeatureMessages => ({
    own: String(own),
    answer: (_, answer) => {
      answers[own] = answer;
    },
    ask: async (_, message) => [answers[1 - own]?.(message) ?? {}],
  });
  return [new Conversations(messagesOf(0)), new Conversations(messagesOf(1))];
}

describe("a session", () => {
  test("has touched what its calls have, until it ends", () => {
    const conversations = new Conversations();
    conversations.touch(inSession("s1"), PRIVATE, "files__read");
    expect(conversations.of(inSession("s1"))).toMatchObject({
      conversation: { private: ["files__read"] },
      isWhole: true,
    });
    expect(conversations.of(inSession("s2")).conversation).toBeUndefined();
    conversations.release("s1");
    expect(conversations.of(inSession("s1")).conversation).toBeUndefined();
    expect(conversations.size).toBe(0);
  });

  test("that another process served before is not known whole", () => {
    const conversations = new Conversations();
    const call = inSession("s1", { adoption: new Adoption("other") });
    conversations.touch(call, PRIVATE, "files__read");
    expect(conversations.of(call)).toMatchObject({
      conversation: { private: ["files__read"] },
      isWhole: false,
    });
  });

  test("remembers three names for a sentence, each once", () => {
    const conversations = new Conversations();
    for (const name of ["a", "a", "b", "c", "d"]) conversations.touch(inSession("s1"), PRIVATE, name);
    expect(conversations.of(inSession("s1")).conversation?.private).toEqual(["a", "b", "c"]);
  });
});

describe("a trace", () => {
  test("is one conversation of one principal", () => {
    const conversations = new Conversations();
    conversations.touch(inTrace(1), PRIVATE, "files__read");
    expect(conversations.of(inTrace(1))).toMatchObject({
      conversation: { private: ["files__read"] },
      isWhole: true,
    });
    expect(conversations.of(inTrace(1, "bob")).conversation).toBeUndefined();
    expect(conversations.of(inTrace(2)).conversation).toBeUndefined();
  });

  test("is known nowhere without an id", () => {
    const conversations = new Conversations();
    conversations.touch(inTrace(undefined), PRIVATE, "files__read");
    expect(conversations.of(inTrace(undefined))).toEqual({ conversation: undefined, isWhole: false });
    expect(conversations.size).toBe(0);
  });

  test("has touched what it has touched in other processes, once they were asked", async () => {
    const [here, there] = processes();
    there.touch(inTrace(1), PRIVATE, "files__read");
    there.touch(inTrace(2), { private: false, untrusted: true }, "web__get");
    there.touch(inTrace(1, "bob"), { private: false, untrusted: true }, "web__get");
    expect(here.of(inTrace(1)).conversation).toBeUndefined();
    await here.learn(inTrace(1));
    expect(here.of(inTrace(1))).toMatchObject({ conversation: { private: ["files__read"] }, isWhole: true });
    expect(here.of(inTrace(1)).conversation?.untrusted).toBeUndefined();
    expect(there.of(inTrace(1))).toMatchObject({ conversation: { private: ["files__read"] } });
  });

  test("that no process knows stays unknown to all, and a session is asked about nowhere", async () => {
    const [here, there] = processes();
    await here.learn(inTrace(1));
    expect([here.size, there.size]).toEqual([0, 0]);
    expect(here.learn(inSession("s1"))).toBeUndefined();
    expect(new Conversations().learn(inTrace(1))).toBeUndefined();
  });

  test("is forgotten a day after its last call", async () => {
    const conversations = new Conversations();
    conversations.touch(inTrace(1), PRIVATE, "files__read");
    await pass(DAY - 1_000);
    expect(conversations.of(inTrace(1)).conversation).toBeDefined();
    await pass(DAY - 1_000);
    expect(conversations.of(inTrace(1)).conversation).toBeDefined();
    await pass(DAY + 1_000);
    expect(conversations.of(inTrace(1)).conversation).toBeUndefined();
    expect(conversations.size).toBe(0);
  });

  test("of one principal is not forgotten for those of another one, who begins many", () => {
    const conversations = new Conversations();
    conversations.touch(inTrace(1, "bob"), PRIVATE, "files__read");
    for (let id = 1; id <= 1_200; id += 1) conversations.touch(inTrace(id), PRIVATE, "files__read");
    expect(conversations.size).toBe(1_001);
    expect(conversations.of(inTrace(1, "bob")).conversation).toBeDefined();
    expect(conversations.of(inTrace(200)).conversation).toBeUndefined();
    expect(conversations.of(inTrace(201)).conversation).toBeDefined();
  });

  test("of many principals are bounded together", () => {
    const conversations = new Conversations();
    for (let id = 0; id < 10_100; id += 1) conversations.touch(inTrace(id, `p${id % 20}`), PRIVATE, "a");
    expect(conversations.size).toBe(10_000);
  });
});
