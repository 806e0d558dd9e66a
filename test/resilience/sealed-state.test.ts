/** What opens a state that was handed to a host, and what does not. */
import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Call, Reply, RoundState, Route } from "../../src/core/call.js";
import { ANONYMOUS } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import { type SealSettings, sealedState } from "../../src/resilience/sealed-state.js";
import { textReply } from "../support/fake-port.js";
import fc from "../support/fast-check.js";

const key = createSecretKey(Buffer.alloc(32, 7));
const START = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

const route: Route = { upstream: "quiz", target: "start", exposed: "quiz__start", kind: "tools" };
const first: Call = {
  id: 1,
  method: "tools/call",
  params: { name: "quiz__start", arguments: { level: 3, deep: { b: 1, a: [2] } } },
  route,
  client: {
    principal: { ...ANONYMOUS, id: "alice" },
    affinity: "a",
    session: false,
    endpoint: "",
    capabilities: {},
  },
  signal: new AbortController().signal,
  notify: () => {},
};

const asks = (state?: RoundState): Reply => ({
  kind: "input_required",
  requests: { q: { method: "roots/list" } },
  ...(state !== undefined && { state }),
});

/** The state a client gets for `state` of a server, as sealed at `START`. */
async function sealed(
  state: string | RoundState,
  call = first,
  settings: Partial<SealSettings> = {},
): Promise<string> {
  const round = typeof state === "string" ? { server: state } : state;
  const reply = await sealedState({ key, now: () => START, ...settings })(async () => asks(round))(call);
  return (reply as { sealedState: string }).sealedState;
}

/** The state inside the seal when a client comes back with `sealedState`. */
async function openedState(
  sealed: string,
  call = first,
  settings: Partial<SealSettings> = {},
): Promise<RoundState | undefined> {
  let given: RoundState | undefined;
  const handler = sealedState({ key, now: () => START, ...settings })(async (call) => {
    given = call.inputResponses?.state;
    return textReply("done");
  });
  await handler({ ...call, inputResponses: { responses: { q: {} }, sealedState: sealed } });
  return given;
}

/** What the server is given of it. */
const opened = async (...given: Parameters<typeof openedState>): Promise<string | undefined> =>
  (await openedState(...given))?.server;

const rejected = async (state: string, call = first, settings: Partial<SealSettings> = {}) => {
  const error: unknown = await opened(state, call, settings).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(GatewayError);
  expect(error).toMatchObject({ code: "state_rejected" });
};

test("any state comes back to the server byte for byte, and shows nothing of itself on the way", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (state) => {
      const made = await sealed(state);
      expect(made).toMatch(/^cardea4\.[\w-]+$/);
      if (state.length > 8) expect(made).not.toContain(state);
      expect(await opened(made)).toBe(state.toWellFormed());
    }),
  );
});

test("what the gateway's own layers have written comes back to them, beside the server's state", async () => {
  const policy = {
    asked: { rule: "r", nonce: "n\n", call: "c" },
    refused: { "a\nb": "roots" },
    rounds: 2,
  } as const;
  for (const state of [
    { policy, parked: "token" },
    { links: ["1", "2\n"], server: "" },
    { policy, server: "\n{}\n" },
    {},
  ])
    expect(await openedState(await sealed(state))).toEqual(state);
});

test.each([
  '{"policy":{"approved":"ask","rounds":0}}',
  '{"parked":"token"}\nserver',
  '\n{"links":[]}',
  '{"server":"x","policy":{"rounds":-99}}',
])("a server's state that imitates the gateway's is still treated as the server's: %j", async (forged) => {
  expect(await openedState(await sealed(forged))).toEqual({ server: forged });
  expect(await openedState(await sealed({ parked: "t", server: forged }))).toEqual({
    parked: "t",
    server: forged,
  });
});

test("the same state is never sealed the same way twice", async () => {
  expect(await sealed("s")).not.toBe(await sealed("s"));
});

test("a state that was changed anywhere is rejected", async () => {
  const made = await sealed("the state of the server");
  await fc.assert(
    fc.asyncProperty(
      fc.nat(made.length - 1),
      fc.constantFrom(..."AZaz09-_.=! ".split("")),
      async (at, letter) => {
        fc.pre(made[at] !== letter);
        await rejected(made.slice(0, at) + letter + made.slice(at + 1));
      },
    ),
  );
  for (const other of [
    "",
    "s",
    "cardea4.",
    `${made}-TAMPERED`,
    `${made}=`,
    made.slice(0, -1),
    ` ${made}`,
    made.slice(8),
  ]) {
    await rejected(other);
  }
  await rejected(`cardea4.${randomBytes(80).toString("base64url")}`);
});

describe("a state opens only where it was given:", () => {
  const withArgs = (args: unknown): Call => ({ ...first, params: { ...first.params, arguments: args } });
  test.each<[string, Call]>([
    [
      "not for another principal",
      { ...first, client: { ...first.client, principal: { ...ANONYMOUS, id: "bob" } } },
    ],
    ["not in another scope", { ...first, client: { ...first.client, endpoint: "files" } }],
    ["not for another server", { ...first, route: { ...route, upstream: "other" } }],
    ["not for another method", { ...first, method: "prompts/get" }],
    ["not for another target", { ...first, params: { ...first.params, name: "quiz__stop" } }],
    ["not with other arguments", withArgs({ level: 4, deep: { b: 1, a: [2] } })],
    ["not with fewer arguments", withArgs({ level: 3 })],
    ["not without arguments", withArgs(undefined)],
    ["not with arguments that only look alike", withArgs({ level: "3", deep: { b: 1, a: [2] } })],
  ])("%s", async (_what, call) => {
    await rejected(await sealed("s"), call);
  });

  test("not under another key", async () => {
    await rejected(await sealed("s"), first, { key: createSecretKey(randomBytes(32)) });
  });

  test("but with its arguments in another order, other metadata, and under an equal key elsewhere", async () => {
    const call = {
      ...withArgs({ deep: { a: [2], b: 1 }, level: 3 }),
      id: 99,
      client: { ...first.client, affinity: "other", capabilities: { roots: {} } },
    };
    const again = { ...call, params: { ...call.params, _meta: { progressToken: 8 } } };
    expect(await opened(await sealed("s"), again, { key: createSecretKey(Buffer.alloc(32, 7)) })).toBe("s");
  });
});

test("a state expires, and until then may be brought more than once", async () => {
  const made = await sealed("s");
  expect(await opened(made, first, { now: () => START + HOUR - 1 })).toBe("s");
  expect(await opened(made, first, { now: () => START + HOUR - 1 })).toBe("s");
  await rejected(made, first, { now: () => START + HOUR });
  const short = await sealed("s", first, { ttlMs: () => 1000 });
  await rejected(short, first, { now: () => START + 1000 });
});

test("each round is sealed again", async () => {
  const handler = sealedState({ key, now: () => START })(async (call) =>
    asks({ server: `${call.inputResponses?.state?.server ?? "start"}+` }),
  );
  const one = (await handler(first)) as { sealedState: string };
  const two = (await handler({ ...first, inputResponses: { responses: {}, ...one } })) as typeof one;
  expect(two.sealedState).not.toBe(one.sealedState);
  expect(await opened(two.sealedState)).toBe("start++");
});

test("where the server gives no state the client gets a proof of the round, and the server none of it", async () => {
  const seen: unknown[] = [];
  const handler = sealedState({ key })(async (call) => {
    seen.push(call.inputResponses);
    return asks();
  });
  const { sealedState: state } = (await handler(first)) as { sealedState: string };
  await handler({ ...first, inputResponses: { responses: { q: {} } } });
  await handler({ ...first, inputResponses: { responses: { q: {} }, sealedState: state } });
  const round = { id: expect.any(String), isFirst: true };
  expect(seen).toEqual([undefined, { responses: { q: {} } }, { responses: { q: {} }, state: {}, round }]);
});

test("only the first of many uses counts as the continuation of its call", async () => {
  const seen: (boolean | undefined)[] = [];
  const handler = sealedState({ key })(async (call) => {
    seen.push(call.inputResponses?.round?.isFirst);
    return asks();
  });
  const { sealedState: state } = (await handler(first)) as { sealedState: string };
  const again = { ...first, inputResponses: { responses: {}, sealedState: state } };
  await Promise.all([handler(again), handler(again), handler(again)]);
  expect(seen).toEqual([undefined, true, false, false]);
});

test("a state names its process, and opens in no other", async () => {
  const state = await sealed("abc", first, { issuer: "2" });
  expect(state).toMatch(/^2-cardea4\./);
  expect(await opened(state, first, { issuer: "2" })).toBe("abc");
  for (const settings of [{ issuer: "1" }, {}]) await rejected(state, first, settings);
  await rejected(state.replace("2-", "1-"), first, { issuer: "1" });
  await rejected(state.replace("2-", ""));
  await rejected(await sealed("abc"), first, { issuer: "2" });
});

test("other replies pass as they are", async () => {
  const reply = textReply("done");
  expect(await sealedState({ key })(async () => reply)(first)).toBe(reply);
});

test("a key of another length is refused when the seal is made", () => {
  expect(() => sealedState({ key: createSecretKey(Buffer.alloc(16)) })).toThrow(RangeError);
});

test("a state that does not open is a rejection like any other failure, and never a throw", async () => {
  const handler = sealedState({ key })(async () => textReply("done"));
  const failed = handler({ ...first, inputResponses: { responses: {}, sealedState: "made up" } });
  await expect(failed).rejects.toThrow("the requestState is not one of ours");
});
