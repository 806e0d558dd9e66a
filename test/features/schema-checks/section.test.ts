/** The section `checks` of a server. */
import { expect, test } from "vitest";
import { formatProblem } from "../../../src/config/problem.js";
import { readConfig } from "../../../src/config/read.js";
import { SECTIONS } from "../../support/features.js";

const read = (server: object, file = "c.json") =>
  readConfig(JSON.stringify({ mcpServers: { db: { command: "x", ...server } } }, null, 1), file, {
    ...{ env: {}, sections: SECTIONS },
  });

test.each(["c.json", ".mcp.json"])("comes out complete in %s", (file) => {
  const outcome = read({ checks: { arguments: true, maxResultBytes: 1000 } }, file);
  expect(outcome.ok && outcome.config.servers[0]?.features).toEqual({
    checks: { arguments: true, results: false, maxResultBytes: 1000 },
  });
});

test.each([
  [{ checks: { argument: true } }, /checks has an unknown key "argument"; did you mean "arguments"\?/],
  [{ checks: { maxArgumentBytes: 0 } }, /checks\.maxArgumentBytes must be at least 1/],
])("%j is refused at its place", (server, message) => {
  const problems = read(server).problems.map(formatProblem);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(message);
  expect(problems[0]).toMatch(/^c\.json:\d+:\d+: /);
});
