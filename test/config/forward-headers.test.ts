/** Which headers of hosts the config may carry to a server. */
import { describe, expect, test } from "vitest";
import { formatProblem } from "../../src/config/problem.js";
import { readConfig } from "../../src/config/read.js";
import { hasFeature, SECTIONS, testOf } from "../support/features.js";

const keys = [{ id: "ada", hash: `sha256:${"0".repeat(64)}` }];

const read = (server: object, more: object = {}) =>
  readConfig(JSON.stringify({ mcpServers: { far: server }, ...more }, null, 1), "c.json", {
    ...{ env: {}, cwd: "/etc/x" },
    readFile: () => "{}",
    sections: SECTIONS,
  });

const problemsOf = (...given: Parameters<typeof read>): readonly string[] =>
  read(...given).problems.map((problem) => formatProblem(problem));

const far = { url: "https://far.example/mcp" };

test.each([
  [
    ["x-tenant", "X-User"],
    [
      ["x-tenant", "x-tenant"],
      ["x-user", "x-user"],
    ],
  ],
  [[{ from: "X-User-Key", to: "X-Api-Key" }], [["x-user-key", "x-api-key"]]],
  [[{ from: "x-token", to: "Authorization" }], [["x-token", "authorization"]]],
  [[{ from: "x-a" }], [["x-a", "x-a"]]],
  [
    [
      { from: "x-a", to: "x-b" },
      { from: "x-a", to: "x-c" },
    ],
    [
      ["x-a", "x-b"],
      ["x-a", "x-c"],
    ],
  ],
])("%j is complete", (forwardHeaders, pairs) => {
  const outcome = read({ ...far, forwardHeaders });
  const [server] = outcome.ok ? outcome.config.servers : [];
  expect(server?.transport).toMatchObject({ forwardHeaders: pairs.map(([from, to]) => ({ from, to })) });
  // Credentials of the host are in place of a sign-in.
  if (hasFeature("sign-in"))
    expect(server?.auth === undefined).toBe(pairs.some(([, to]) => to === "authorization"));
});

describe("is refused at its entry", () => {
  test.each([
    ["connection", "belongs to one connection"],
    ["Transfer-Encoding", "belongs to one connection"],
    ["proxy-authorization", "belongs to one connection"],
    ["Mcp-Session-Id", "is a header of MCP"],
    ["mcp-param-x", "is a header of MCP"],
    ["Host", "says where a request goes"],
    ["content-type", "describes the body"],
    ["Content-Encoding", "describes the body"],
    ["accept", "is set by the gateway itself"],
    ["user-agent", "is set by the gateway itself"],
    ["last-event-id", "is set by the gateway itself"],
    ["traceparent", "is set by the gateway itself"],
    [
      "Authorization",
      'in a header of their own, such as { "from": "x-server-token", "to": "authorization" }',
    ],
    ["cookie", "has credentials for the gateway"],
    [{ from: "x-a", to: "host" }, "says where a request goes"],
    [{ from: "x-a", to: "Content-Length" }, "describes the body"],
    [{ from: "x-a", to: "cookie" }, "cannot be written"],
    [{ from: "authorization", to: "x-token" }, "has credentials for the gateway"],
  ])("%j", (entry, why) => {
    const problems = problemsOf({ ...far, forwardHeaders: ["x-tenant", entry] });
    expect(problems).toEqual([
      expect.stringMatching(/^c\.json:\d+:\d+: server "far" has "forwardHeaders" in which /),
    ]);
    expect(problems[0]).toContain(why);
  });

  test.each([
    [{ ...far, forwardHeaders: ["x a"] }, "is not a header name"],
    [{ ...far, forwardHeaders: ["x-a", { from: "x-b", to: "X-A" }] }, 'two entries have the name "x-a"'],
    [{ command: "x", forwardHeaders: ["x-a"] }, '"forwardHeaders", which stdio servers do not have'],
  ])("%#", (server, why) => {
    expect(problemsOf(server).join()).toContain(why);
  });

  testOf("sign-in")("a header that a sign-in sets", () => {
    const server = { ...far, auth: {}, forwardHeaders: [{ from: "x-t", to: "authorization" }] };
    expect(problemsOf(server).join()).toContain('what the "auth" of the server sets');
  });

  test("a key for the gateway", () => {
    const server = { ...far, forwardHeaders: ["x-api-key"] };
    expect(problemsOf(server)).toEqual([]);
    expect(problemsOf(server, { auth: { keys } }).join()).toContain(
      'may have the key for the gateway ("auth")',
    );
  });
});
