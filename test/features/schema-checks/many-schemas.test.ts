/** Many schemas at once: their patterns are compiled one in a turn, so that others get theirs in between. */
import { createRequire } from "node:module";
import { expect, test, vi } from "vitest";
import type { Route } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import { ToolSchemas } from "../../../src/features/schema-checks/schema-checks.js";

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

test("compilation of two hundred schemas with large patterns yields after each pattern", async () => {
  const schemas = new ToolSchemas(SILENT);
  let most = 0;
  let compiled = 0;
  // As the engine is loaded: when the first pattern needs it.
  const { RE2JS } = createRequire(import.meta.url)("re2js") as typeof import("re2js");
  const compile = RE2JS.compile.bind(RE2JS);
  const spy = vi.spyOn(RE2JS, "compile").mockImplementation((...given) => {
    compiled += 1;
    return compile(...given);
  });
  let last = 0;
  const watch = (): void => {
    most = Math.max(most, compiled - last);
    last = compiled;
    if (compiled < 200) setImmediate(watch);
  };
  setImmediate(watch);
  await Promise.all(
    times(200, (at) => {
      const inputSchema = { properties: { a: { pattern: `[a-z]{1,${400 + at}}!` } } };
      const item = { name: "t", inputSchema };
      const route: Route = { upstream: "s", target: `t${at}`, exposed: `t${at}`, kind: "tools", item };
      return schemas.validate(route, "inputSchema", { a: "b" });
    }),
  );
  spy.mockRestore();
  expect(compiled).toBe(200);
  // Looked at between two turns of the event loop, which others have in between.
  expect(most).toBeLessThanOrEqual(2);
});
