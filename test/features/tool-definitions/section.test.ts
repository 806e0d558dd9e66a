/** Which definitions the config shortens, and for which models schemas are listed. */
import { describe, expect, test } from "vitest";
import { asInFile } from "../../../src/config/as-in-file.js";
import { formatProblem } from "../../../src/config/problem.js";
import { readConfig } from "../../../src/config/read.js";
import { dialectAt, shorteningOf } from "../../../src/features/tool-definitions/forms.js";
import { SECTIONS } from "../../../src/features/tool-definitions/section.js";

const read = (top: object, server: object) => {
  const text = JSON.stringify({ ...top, mcpServers: { db: { command: "x", ...server } } });
  return readConfig(text, "c.json", { env: {}, sections: SECTIONS });
};

describe("shorter definitions", () => {
  const shortenings = (top: object, server: object) => {
    const outcome = read(top, server);
    if (!outcome.ok) return outcome.problems;
    const { servers, features } = outcome.config;
    return servers.map((each) => shorteningOf(each.features, features));
  };

  test("are off unless the config asks for them", () => {
    expect(shortenings({}, {})).toEqual([undefined]);
    expect(shortenings({ schemas: { compact: false } }, {})).toEqual([undefined]);
  });

  test("are for all servers at the top level, and a server's own settings take precedence, key by key", () => {
    const top = { descriptions: { maxLength: 300 }, schemas: { compact: true } };
    expect(shortenings(top, {})).toEqual([{ descriptionLength: 300, compactSchemas: true }]);
    expect(shortenings(top, { schemas: { compact: false } })).toEqual([
      { descriptionLength: 300, compactSchemas: false },
    ]);
    expect(shortenings({}, { descriptions: { maxLength: 80 } })).toEqual([
      { descriptionLength: 80, compactSchemas: false },
    ]);
  });
});

test("the dialect of a URL is its own, else that of the file", () => {
  const top = { schemas: { dialect: "openai" }, profiles: { p: { schemas: { dialect: "none" } }, q: {} } };
  const outcome = read(top, { schemas: { dialect: "gemini" } });
  if (!outcome.ok) throw new Error(outcome.problems.map(formatProblem).join());
  const at = (endpoint: string) => dialectAt(outcome.config, endpoint);
  expect(asInFile(outcome.config)).toMatchObject({ ...top, servers: [{ schemas: { dialect: "gemini" } }] });
  expect(["", "db", "p", "q"].map(at)).toEqual(["openai", "gemini", "none", "openai"]);
});

test.each([
  [{ descriptions: { maxLength: 39 } }, /descriptions\.maxLength must be at least 40/],
  [{ descriptions: {} }, /descriptions\.maxLength is missing/],
  [{ schemas: { compact: "yes" } }, /schemas\.compact must be true or false/],
])("%j is refused at its place", (server, message) => {
  const { problems } = read({}, server);
  const [problem, second] = problems.map(formatProblem);
  expect(second).toBeUndefined();
  expect(problem).toMatch(message);
  expect(problem).toMatch(/^c\.json:\d+:\d+: /);
});
