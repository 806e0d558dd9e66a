import { describe, expect, test, vi } from "vitest";
import { type Call, compose, type Handler, type Reply, type Route } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import {
  checkedArguments,
  checkedResults,
  ToolSchemas,
} from "../../../src/features/schema-checks/schema-checks.js";
import type { ChecksConfig } from "../../../src/features/schema-checks/section.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { fakeCall, rawResult, textResult } from "../../support/fake-call.js";

const ITEM: JsonObject = {
  name: "query",
  inputSchema: {
    type: "object",
    properties: { sql: { type: "string" }, limit: { type: "integer", minimum: 1 } },
    required: ["sql"],
    additionalProperties: false,
  },
  outputSchema: { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] },
};

function checked(wanted: Partial<ChecksConfig>, server: (call: Call) => Reply = () => textResult("ok")) {
  const checks: ChecksConfig = { arguments: false, results: false, ...wanted };
  const calls: Call[] = [];
  const warn = vi.fn();
  const schemas = new ToolSchemas({ ...SILENT, warn });
  const answer: Handler = async (call) => {
    calls.push(call);
    return server(call);
  };
  const handle = compose(
    [
      errorBoundary(SILENT),
      checkedArguments(new Map([["db", checks]]), schemas),
      checkedResults({ server: "db", checks, schemas }),
    ],
    answer,
  );
  return { handle, calls, warn };
}

const query = (args: unknown, over: Partial<Call> = {}, item: JsonObject = ITEM): Call => {
  const route: Route = { upstream: "db", target: "query", exposed: "db__query", kind: "tools", item };
  const params = { name: "db__query", ...(args !== undefined && { arguments: args }) };
  return fakeCall({ params, route, ...over });
};

/** The refusal and what it says; undefined for a reply of the server's own. */
function refusalIn(reply: Reply): { readonly code: unknown; readonly text: unknown } | undefined {
  if (reply.kind === "error")
    return reply.refusal === undefined ? undefined : { code: reply.refusal, text: reply.error.message };
  if (reply.kind !== "result" || reply.refusal === undefined) return undefined;
  const { content, isError } = reply.result.object as { content: { text: string }[]; isError: boolean };
  expect(isError).toBe(true);
  return { code: reply.refusal, text: content[0]?.text };
}

describe("arguments", () => {
  test.each<[unknown, string]>([
    [{ sql: 1 }, "sql must be string"],
    [undefined, 'needs a member "sql"'],
    [{ sql: "x", limit: 0 }, "limit must be at least 1"],
    [{ sql: "x", drop: 1 }, "drop must not be there"],
    ["select", "must be object"],
    [null, "must be object"],
  ])("%j never reach the server", async (args, why) => {
    const { handle, calls } = checked({ arguments: true });
    expect(refusalIn(await handle(query(args)))).toEqual({
      code: "bad_request",
      text: `the arguments of "db__query" violate its input schema: ${why}. A retry with the same arguments will not help; corrected arguments may.`,
    });
    expect(calls).toEqual([]);
  });

  test("that are valid are forwarded as the same object", async () => {
    const { handle, calls } = checked({ arguments: true });
    const call = query({ sql: "select 1", limit: 5 });
    expect(refusalIn(await handle(call))).toBeUndefined();
    expect(calls[0]).toBe(call);
  });

  test("are not validated without the setting, and not for other requests than tool calls", async () => {
    const { handle, calls } = checked({ arguments: true });
    await checked({ results: true }).handle(query({ sql: 1 }));
    await handle(query({ sql: 1 }, { method: "completion/complete" }));
    const other = query({ sql: 1 });
    await handle({ ...other, route: { ...other.route, upstream: "files" } as Route });
    expect(calls).toHaveLength(2);
  });

  test("are validated in each round, against the tool's schema at that time", async () => {
    const { handle, calls } = checked({ arguments: true });
    const inputResponses = { responses: {}, state: { server: "s" } };
    expect(refusalIn(await handle(query({ sql: "x" }, { inputResponses })))).toBeUndefined();
    expect(refusalIn(await handle(query({ sql: 2 }, { inputResponses })))?.code).toBe("bad_request");
    expect(calls).toHaveLength(1);
  });

  test("have a size limit", async () => {
    const { handle, calls } = checked({ maxArgumentBytes: 20 });
    expect(refusalIn(await handle(query({ sql: "12345678" })))?.code).toBeUndefined();
    expect(refusalIn(await handle(query({ sql: "ééééééé" })))).toEqual({
      code: "too_large",
      text: 'the arguments of "db__query" may have at most 20 bytes. A retry will not help.',
    });
    expect(calls).toHaveLength(1);
  });

  test("that take too many validation steps are refused", async () => {
    const item = { ...ITEM, inputSchema: { properties: { a: { uniqueItems: true } } } };
    const { handle, calls } = checked({ arguments: true });
    const args = { a: Array.from({ length: 100_000 }, (_, at) => [at]) };
    expect(refusalIn(await handle(query(args, {}, item)))?.code).toBe("too_large");
    expect(calls).toEqual([]);
  });
});

describe("results", () => {
  const wanted = { results: true } as const;
  test.each<[object, string]>([
    [{ structuredContent: { rows: "many" } }, "rows must be integer"],
    [{ structuredContent: {} }, 'needs a member "rows"'],
    [{ structuredContent: [] }, "must be object"],
    [{}, "it has no structuredContent"],
  ])("with %j are withheld, and the error says that the tool has run", async (more, why) => {
    const { handle, calls } = checked(wanted, () => textResult("s3cret", { ...more }));
    const reply = await handle(query({ sql: "x" }));
    expect(refusalIn(reply)).toEqual({
      code: "denied",
      text: `"db__query" ran, but its result violates its output schema (${why}), and is withheld. A retry will not help.`,
    });
    expect(JSON.stringify(reply)).not.toContain("s3cret");
    expect(calls).toHaveLength(1);
  });

  test("that are valid are forwarded byte for byte", async () => {
    const answer = rawResult('{"content":[], "structuredContent":{"rows":1.0},"x":1}');
    const { handle } = checked(wanted, () => answer);
    const reply = await handle(query({ sql: "x" }));
    expect(reply).toBe(answer);
    expect(reply.kind === "result" && reply.result.text).toContain('"rows":1.0');
  });

  test.each<[string, Reply, Partial<Call>]>([
    ["an error of the tool", textResult("no", { isError: true }), {}],
    ["an error of the server", { kind: "error", error: { code: -32000, message: "no" } }, {}],
    ["a question", { kind: "input_required", requests: {} }, {}],
    ["a task that begins", rawResult('{"resultType":"task","taskId":"1"}'), {}],
    [
      "a task of 2025-11-25",
      rawResult('{"task":{"taskId":"1"}}'),
      { params: { name: "db__query", task: {} } },
    ],
    ["a task that is not done", rawResult('{"status":"working"}'), { method: "tasks/get" }],
    ["what is no tool's", rawResult('{"contents":[]}'), { method: "resources/read" }],
  ])("that are %s are not validated", async (_, reply, over) => {
    const { handle } = checked(wanted, () => reply);
    expect(await handle(query({ sql: "x" }, over))).toBe(reply);
  });

  test.each<[string, string]>([
    ["tasks/result", '{"structuredContent":{"rows":"x"}}'],
    ["tasks/get", '{"status":"completed","result":{"structuredContent":{"rows":"x"}}}'],
  ])("of a task are validated when %s returns them", async (method, text) => {
    const { handle } = checked(wanted, () => rawResult(text));
    expect(refusalIn(await handle(query({}, { method })))?.code).toBe("denied");
  });

  test("have a size limit, whatever the settings", async () => {
    const { handle } = checked({ maxResultBytes: 40 }, ({ params }) => textResult(String(params.n)));
    const read = (n: string) => handle(query({}, { method: "resources/read", params: { n } }));
    expect(refusalIn(await read("a"))).toBeUndefined();
    expect(refusalIn(await read("ééé"))).toEqual({
      code: "denied",
      text: "the result of resources/read is larger than 40 bytes, and is withheld",
    });
  });

  test("of a tool without an output schema are not parsed", async () => {
    const { outputSchema: _, ...plain } = ITEM;
    const answer = rawResult("no JSON at all");
    const { handle } = checked(wanted, () => answer);
    expect(await handle(query({}, {}, plain))).toBe(answer);
  });
});

test("an unsupported part of a schema is logged once for each tool definition", async () => {
  const item = { ...ITEM, inputSchema: { properties: { a: { pattern: "(?<!x)y" } } } };
  const { handle, warn } = checked({ arguments: true });
  await Promise.all([handle(query({ a: "y" }, {}, item)), handle(query({ a: "y" }, {}, item))]);
  await handle(query({ a: "y" }, {}, item));
  expect(warn.mock.calls).toEqual([
    [
      {
        server: "db",
        tool: "query",
        schema: "inputSchema",
        unchecked: ["the pattern (?<!x)y is not supported by RE2"],
      },
      "parts of a tool's JSON Schema are not supported; values are not checked against them",
    ],
  ]);
});
