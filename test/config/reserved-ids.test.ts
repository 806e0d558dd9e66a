/** Key ids of the config that would be taken for another principal, and addresses of proxies that are none. */
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";

const HASH = `sha256:${"0a".repeat(32)}`;
const problemsOf = (config: object) => {
  const outcome = readConfig(JSON.stringify(config, undefined, 2), "/home/me/cardea.json", { env: {} });
  return outcome.problems.map(({ message, line, column }) => ({ message, line, column }));
};
const withKey = (id: string, more: object = {}) => ({ auth: { keys: [{ id, hash: HASH, ...more }] } });

test.each([
  ...["anonymous", "operator", "admin-token", "shared", "service", "group:leads"],
  ...["Operator", "ANONYMOUS", "ｓhared", "оperator", "admin_token", "Group:x"],
])("the key id %s is refused, with its position", (id) => {
  expect(problemsOf(withKey(id))).toEqual([
    {
      message: expect.stringMatching(/^auth\.keys\[0\]\.id must not be .*give the key another id$/),
      line: 5,
      column: 15,
    },
  ]);
});

test.each(["a\u200bb", "\u3164", "ci\u00ad", " ci", "c\u2800i", "\ufe0f"])(
  "the key id %j is refused: it cannot be seen",
  (id) => {
    expect(problemsOf(withKey(id))).toEqual([
      expect.objectContaining({ message: expect.stringContaining("seen") }),
    ]);
  },
);

test("a group with hidden characters, and a server's name of them, are refused", () => {
  expect(problemsOf(withKey("ci", { groups: ["ad\u200bmins"] }))).toHaveLength(1);
  for (const name of ["fi\u200bles", "\u3164", "files\u00ad"])
    expect(problemsOf({ mcpServers: { [name]: { command: "x" } } })).toHaveLength(1);
});

test.each(["ci", "operators", "service-a", "团队", "ann@example.com"])("the key id %s is accepted", (id) => {
  expect(problemsOf(withKey(id))).toEqual([]);
});

test.each(["0.0.0.0/0", "10.0.0.0/64", "proxy.example.com", "true", "::ffff:10.0.0.1"])(
  "listen.http.trustedProxies with %j is refused, with its position",
  (text) => {
    const found = problemsOf({ listen: { http: { trustedProxies: ["loopback", text] } } });
    expect(found).toEqual([
      { message: expect.stringContaining("trustedProxies"), line: 6, column: expect.any(Number) },
    ]);
  },
);
