import { expect, test } from "vitest";
import { type Call, compose } from "../../src/core/call.js";
import { configuredArguments, withConfiguredArguments } from "../../src/routing/configured-arguments.js";
import { fakeCall, textResult } from "../support/fake-call.js";

const given = { defaults: { limit: 10, mode: "fast" }, fixed: { env: "test" } };
const called = (params: Call["params"], over: Partial<Call> = {}): Call =>
  fakeCall({
    params: { name: "db__query", ...params },
    route: {
      upstream: "db",
      target: "query",
      exposed: "db__query",
      kind: "tools",
      configuredArguments: given,
    },
    ...over,
  });

test.each([
  [{}, { limit: 10, mode: "fast", env: "test" }],
  [{ arguments: { limit: 3, env: "prod" } }, { limit: 3, mode: "fast", env: "test" }],
  [{ arguments: { limit: null, x: 1 } }, { limit: null, mode: "fast", x: 1, env: "test" }],
  [{ arguments: "prod" }, { limit: 10, mode: "fast", env: "test" }],
  [{ arguments: [1] }, { limit: 10, mode: "fast", env: "test" }],
])("of %j the server gets %j", (params, expected) => {
  expect(withConfiguredArguments(called(params)).params).toEqual({ name: "db__query", arguments: expected });
});

test.each(["Env", "ENV", "ｅnv"])(
  "%s, which a reader could take for a fixed argument, goes, unless the tool has both",
  (twin) => {
    const args = { [twin]: "prod", envy: 1 };
    const expected = { limit: 10, mode: "fast", envy: 1, env: "test" };
    expect(withConfiguredArguments(called({ arguments: args })).params.arguments).toEqual(expected);
    const item = { name: "query", inputSchema: { properties: { [twin]: {} } } };
    const route = {
      upstream: "db",
      target: "query",
      exposed: "db__query",
      kind: "tools",
      item,
      configuredArguments: given,
    } as const;
    expect(withConfiguredArguments(called({ arguments: args }, { route })).params.arguments).toEqual({
      ...expected,
      [twin]: "prod",
    });
  },
);

test("an argument called __proto__ stays one", () => {
  const args: unknown = JSON.parse('{ "__proto__": { "env": "prod" } }');
  const { params } = withConfiguredArguments(called({ arguments: args }));
  expect(JSON.stringify(params.arguments)).toBe(
    '{"limit":10,"mode":"fast","__proto__":{"env":"prod"},"env":"test"}',
  );
});

test("an unknown method gets them like a call", () => {
  const params = withConfiguredArguments(
    called({ arguments: { env: "prod" } }, { method: "other/run" }),
  ).params;
  expect(params.arguments).toEqual({ limit: 10, mode: "fast", env: "test" });
});

test("a call without configured arguments is passed on as the same object", async () => {
  const seen: Call[] = [];
  const handle = compose([configuredArguments], async (call) => {
    seen.push(call);
    return textResult("ok");
  });
  const calls = [fakeCall(), called({}, { method: "tasks/get" })];
  for (const call of calls) await handle(call);
  expect(seen[0]).toBe(calls[0]);
  expect(seen[1]).toBe(calls[1]);
});

test("a header that speaks of a fixed argument is not carried on; one that nothing explains is", () => {
  const item = {
    name: "query",
    inputSchema: { type: "object", properties: { env: { type: "string", "x-mcp-header": "Env" } } },
  };
  const route = {
    upstream: "db",
    target: "query",
    exposed: "db__query",
    kind: "tools",
    item,
    configuredArguments: given,
  } as const;
  const extraHeaders = { "mcp-param-env": "prod", "mcp-param-other": "1" };
  expect(withConfiguredArguments(called({}, { route, extraHeaders })).extraHeaders).toEqual({
    "mcp-param-other": "1",
  });
});
