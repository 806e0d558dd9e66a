import { expect, test } from "vitest";
import { formatProblem } from "../../src/config/problem.js";
import { readConfig } from "../../src/config/read.js";

const read = (server: object, env = {}) =>
  readConfig(JSON.stringify({ mcpServers: { db: { command: "x", ...server } } }, null, 1), "c.json", { env });

test("overrides come out complete, values as they were written", () => {
  const outcome = read(
    {
      overrides: {
        run_sql: {
          name: "query",
          description: "",
          arguments: { defaults: { limit: 10, tags: [null, { a: 1 }] }, fixed: { dsn: "$" + "{DSN}" } },
        },
      },
    },
    { DSN: "postgres://secret" },
  );
  const [server] = outcome.ok ? outcome.config.servers : [];
  expect(server?.overrides).toEqual({
    run_sql: {
      name: "query",
      description: "",
      arguments: { defaults: { limit: 10, tags: [null, { a: 1 }] }, fixed: { dsn: "postgres://secret" } },
    },
  });
  expect(outcome.ok && outcome.secrets).toContain("postgres://secret");
});

test("a server without settings has neither", () => {
  const outcome = read({});
  const [server = {}] = outcome.ok ? outcome.config.servers : [];
  expect(Object.keys(server)).not.toContain("checks");
  expect(Object.keys(server)).not.toContain("overrides");
});

test.each([
  [{ overrides: { a: { rename: "b" } } }, /overrides\.a has an unknown key "rename"/],
  [{ overrides: { a: { name: "" } } }, /overrides\.a\.name cannot be empty/],
  [{ overrides: { a: { name: "x\u0007" } } }, /overrides\.a\.name cannot hold control characters/],
  [
    { overrides: { a: { arguments: { defaults: { x: 1 }, fixed: { x: 2 } } } } },
    /argument "x" of "a" is both fixed and a default/,
  ],
  [{ overrides: { a: { name: "z" }, b: { name: "z" } } }, /"overrides" that give "a" and "b" the same name/],
])("%j is refused at its place", (server, message) => {
  const outcome = read(server);
  const problems = outcome.problems.map(formatProblem);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(message);
  expect(problems[0]).toMatch(/^c\.json:\d+:\d+: /);
});
