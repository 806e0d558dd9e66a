/** Questions that a legacy host refuses, cannot be asked, or gets without end. */
import { describe, expect, test } from "vitest";
import { textReply } from "../../support/fake-port.js";
import { asks, CAN_ALL, callTool, form, ROOTS, rounds, SAMPLING } from "./questions-support.js";
import { Events, edgeHost, type Message } from "./support.js";

describe("a host that refuses, or cannot be asked,", () => {
  const answersTo = async (capabilities: object, question: object, respond?: object) => {
    const { server, host } = await edgeHost(
      { handlers: rounds(asks({ q: question }), textReply("went on")) },
      { capabilities: { ...capabilities } },
    );
    const events = new Events(await host.open(callTool(), { accept: "text/event-stream" }));
    if (respond !== undefined) {
      const { id } = await events.message();
      await host.post({ jsonrpc: "2.0", id, ...respond });
    }
    const rest = await events.rest();
    return { answers: server.port.calls[1]?.inputResponses, rest, asked: rest.length > 1 };
  };

  test("never receives undeclared requests; a form is cancelled, and there are no roots", async () => {
    const withoutForm = await answersTo({}, form("?"));
    expect(withoutForm).toMatchObject({
      asked: false,
      answers: { responses: { q: { action: "cancel" } }, refusals: { q: { code: -32601 } } },
      rest: [{ id: 1, result: { content: [{ text: "went on" }] } }],
    });
    expect(await answersTo({ sampling: {} }, ROOTS)).toMatchObject({
      asked: false,
      answers: { responses: { q: { roots: [] } } },
    });
    expect(await answersTo({ elicitation: {} }, SAMPLING)).toMatchObject({
      asked: false,
      answers: { responses: {}, refusals: { q: { code: -32601 } } },
    });
  });

  test("is not sent to a URL when it knows only forms, nor shown a form when it knows only URLs", async () => {
    const url = { method: "elicitation/create", params: { mode: "url", message: "m", url: "https://x" } };
    for (const [elicitation, question] of [
      [{}, url],
      [{ form: {} }, url],
      [{ url: {} }, form("?")],
    ] as const) {
      expect(await answersTo({ elicitation }, question)).toMatchObject({
        asked: false,
        answers: { responses: { q: { action: "cancel" } }, refusals: { q: { code: -32602 } } },
      });
    }
  });

  test("that answers with an error has it passed to legacy servers", async () => {
    const error = { code: -1, message: "User rejected sampling request" };
    expect(await answersTo(CAN_ALL, SAMPLING, { error })).toMatchObject({
      answers: { responses: {}, refusals: { q: error } },
    });
    expect(await answersTo(CAN_ALL, form("?"), { error })).toMatchObject({
      answers: { responses: { q: { action: "cancel" } }, refusals: { q: error } },
    });
  });

  test("makes a tool fail, and not ask for ever, when the server cannot do without", async () => {
    const { server, host } = await edgeHost({ handlers: rounds(asks({ q: SAMPLING })) });
    const answer = await host.request("tools/call", { name: "t" });
    expect(answer.result).toMatchObject({ isError: true, _meta: { "cardea/refusal": { code: "denied" } } });
    expect(server.port.calls).toHaveLength(2);
    expect(server.port.calls[1]?.signal.aborted).toBe(true);
  });
});

describe("questions without end", () => {
  test("are cut after eight rounds; a tool fails as a tool, all else with an error", async () => {
    const ask = () => asks({ q: form("again?") });
    const { server, host } = await edgeHost(
      { handlers: { "tools/call": ask, "prompts/get": ask } },
      { capabilities: CAN_ALL },
    );
    for (const method of ["tools/call", "prompts/get"]) {
      const events = new Events(await host.open({ ...callTool(), method }));
      for (let round = 1; round <= 8; round += 1)
        await host.respond((await events.message()).id, { action: "accept" });
      const last = (await events.rest())[0] as Message;
      if (method === "tools/call") expect(last.result).toMatchObject({ isError: true });
      else expect(last.error).toMatchObject({ data: { cardea: { code: "denied" } } });
    }
    expect(server.port.calls).toHaveLength(18);
    expect(server.port.calls.every(({ signal }) => signal.aborted)).toBe(true);
  });

  test("beyond the limit are refused, so that other servers' questions have room", async () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`q${index}`, form("sure?")]));
    const { host } = await edgeHost({ handlers: rounds(asks(many, "s")) }, { capabilities: CAN_ALL });
    const { result } = await host.request("tools/call", { name: "t" });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("150 questions at once");
  });

  test("a reply that asks nothing and has no state is a fault of the server", async () => {
    const { host } = await edgeHost({ handlers: rounds(asks({})) });
    expect((await host.request("tools/call", { name: "t" })).result).toMatchObject({ isError: true });
  });
});
