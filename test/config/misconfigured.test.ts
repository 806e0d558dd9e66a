import { describe, expect, test } from "vitest";
import { isMisconfigured } from "../../src/config/config.js";
import { reasonOf } from "../../src/config/misconfigured.js";
import { formatProblem } from "../../src/config/problem.js";
import { readConfig } from "../../src/config/read.js";
import { hasFeature, SECTIONS, testOf } from "../support/features.js";

const GOOD = '"good": { "command": "x" }';
const read = (text: string, env: Record<string, string> = {}, file = "/p/cardea.jsonc") =>
  readConfig(text, file, { env, sections: SECTIONS });
const readWith = (entry: string) => read(`{ "mcpServers": { "bad": ${entry},\n ${GOOD} } }`);

/** The names of the misconfigured servers; the config must be one that can be served. */
function misconfigured(text: string, file?: string): readonly string[] {
  const outcome = readConfig(text, file ?? "/p/cardea.jsonc", { env: {}, sections: SECTIONS });
  if (!outcome.ok) throw new Error(outcome.problems.map(formatProblem).join("\n"));
  return outcome.config.servers.filter(isMisconfigured).map(({ name }) => name);
}

function isMisconfiguredAlone(entry: string, message: string): void {
  const outcome = readConfig(`{ "mcpServers": { "bad": ${entry},\n ${GOOD} } }`, "/p/cardea.jsonc", {
    env: {},
    sections: SECTIONS,
  });
  if (!outcome.ok) throw new Error(outcome.problems.map(formatProblem).join("\n"));
  const [bad, good] = outcome.config.servers;
  expect(good).toMatchObject({ name: "good", transport: { kind: "stdio" } });
  expect(bad).toMatchObject({ name: "bad", transport: { kind: "unknown" } });
  expect(outcome.problems).toMatchObject([{ file: "/p/cardea.jsonc", line: 1 }]);
  expect(outcome.problems[0]?.message).toContain(message);
  expect(outcome.problems[0]?.message).toContain('server "bad"');
}

describe("what is wrong with the entry of one server makes that one misconfigured", () => {
  test.each([
    [
      "a variable that is not set",
      '{ "command": "x", "env": { "K": "${UNSET}" } }',
      "needs the variable UNSET",
    ],
    ["one in a header", '{ "url": "https://a.example", "headers": { "X": "${UNSET}" } }', "UNSET"],
    ["one in its URL", '{ "url": "${UNSET}" }', "UNSET"],
    ["one in its prefix", '{ "command": "x", "prefix": "${UNSET}" }', "UNSET"],
    ...(hasFeature("sign-in")
      ? [
          [
            "one in its sign-in",
            '{ "url": "https://a.example", "auth": { "clientId": "${UNSET}" } }',
            "UNSET",
          ],
        ]
      : []),
    ["a variable without an end", '{ "command": "x", "args": ["${UNSET"] }', "whose } is missing"],
    ["a variable of VS Code", '{ "command": "x", "args": ["${input:key}"] }', "only VS Code can ask for"],
    ["a file that cannot be read", '{ "command": "x", "args": ["${file:/nowhere/x}"] }', "cannot be read"],
    [
      "an envFile that cannot be read",
      '{ "command": "x", "envFile": "/nowhere/.env" }',
      '"envFile" that cannot be read',
    ],
    ["a misspelt key", '{ "command": "x", "enviroment": {} }', 'unknown key "enviroment"'],
    ["a misspelt key inside", '{ "command": "x", "tools": { "alow": [] } }', 'unknown key "alow"'],
    ["a wrong type", '{ "command": "x", "args": "-y" }', "args must be a list, not text"],
    ["a wrong word", '{ "command": "x", "lease": "mine" }', "lease must be one of"],
    ["no time", '{ "command": "x", "timeout": "soon" }', "timeout"],
    ["both command and url", '{ "command": "x", "url": "https://a.example" }', "it can be one or the other"],
    ["neither", "{}", 'needs a "command" or a "url"'],
    ["no URL", '{ "url": "not a url" }', "is not an absolute URL"],
    ["a URL of another kind", '{ "url": "ftp://a.example" }', "neither http: nor https:"],
    ["a password in the URL", '{ "url": "https://u:p@a.example" }', "user name or password"],
    [
      "a header that HTTP sets",
      '{ "url": "https://a.example", "headers": { "Connection": "x" } }',
      "is set by the gateway",
    ],
    ["an entry that is text", '"npx some-server"', "must be an object, not text"],
    ["an entry that is null", "null", "must be an object, not null"],
    ["an entry that is a list", "[]", "must be an object, not a list"],
    ["the key __proto__", '{ "command": "x", "__proto__": {} }', 'unknown key "__proto__"'],
    [
      "overrides that contradict",
      '{ "command": "x", "overrides": { "a": { "name": "z" }, "b": { "name": "z" } } }',
      "the same name",
    ],
  ])("%s", (_, entry, message) => isMisconfiguredAlone(entry, message));

  testOf("openapi")("a document that is not there", () =>
    isMisconfiguredAlone('{ "type": "openapi", "spec": "/nowhere.json" }', '"spec" that cannot be read'),
  );

  test("in YAML, in a host's own file, and under every key of servers", () => {
    expect(
      misconfigured(
        "servers:\n  a:\n    command: x\n    env: { K: '${UNSET}' }\n  b: { command: y }\n",
        "/p/c.yaml",
      ),
    ).toEqual(["a"]);
    expect(
      misconfigured(
        '{ "mcpServers": { "a": { "command": "${UNSET}" }, "b": { "command": "y" } } }',
        "/p/.mcp.json",
      ),
    ).toEqual(["a"]);
    expect(misconfigured('{ "context_servers": { "a": { "url": 7 }, "b": { "command": "y" } } }')).toEqual([
      "a",
    ]);
  });

  test("with all of its problems at once, each with its place", () => {
    const outcome = read(
      '{ "mcpServers": {\n "bad": { "command": "${A}",\n "args": ["${B}"],\n "x": 1 } } }',
    );
    expect(outcome.problems.map(({ line, column }) => `${line}:${column}`)).toEqual(["2:22", "3:11", "4:2"]);
    const [bad] = outcome.ok ? outcome.config.servers : [];
    expect(bad && isMisconfigured(bad) && reasonOf(bad)).toBe(
      "command needs the variable A, which is not set and has no default; and 2 more problems",
    );
  });

  testOf("policy")("and keeps what rules, profiles and prefixes need of it", () => {
    const outcome = read(`{
      "mcpServers": { "bad": { "command": "\${UNSET}", "prefix": "b", "required": true,
        "tools": { "deny": ["x"] }, "prompts": 7 }, ${GOOD} },
      "profiles": { "p": { "servers": ["bad"], "tools": { "allow": ["read_*"] } } },
      "limits": [{ "servers": ["bad"], "tools": ["read_*"], "rate": "1/s" }] }`);
    expect(outcome).toMatchObject({
      ok: true,
      config: {
        servers: [{ prefix: "b", required: true, tools: { deny: ["x"] }, prompts: { allow: ["*"] } }, {}],
        profiles: { p: { servers: ["bad"], tools: { allow: ["b__read_*"] } } },
        features: { limits: [{ tools: ["b__read_*"] }] },
      },
    });
  });

  test("but a disabled one stays disabled, and its mistake is named", () => {
    const outcome = readWith('{ "command": "x", "disabled": true, "enviroment": {} }');
    expect(outcome).toMatchObject({ ok: true, config: { servers: [{ name: "good" }] } });
    expect(outcome.problems).toMatchObject([{ message: expect.stringContaining("enviroment") }]);
  });
});

describe("what concerns the whole file is refused", () => {
  test.each([
    ["syntax", '{ "mcpServers": { "a": { "command": "x" }'],
    [
      "a duplicate key in the entry of a server",
      '{ "mcpServers": { "a": { "command": "x", "command": "y" } } }',
    ],
    [
      "two servers of one name",
      '{ "mcpServers": { "a": { "command": "x" } }, "servers": { "a": { "command": "x" } } }',
    ],
    [
      "two servers of one prefix",
      '{ "mcpServers": { "a": { "command": "x", "prefix": "p" }, "b": { "command": "x", "prefix": "p" } } }',
    ],
    [
      "a prefix that a misconfigured server has, too",
      '{ "mcpServers": { "a": { "command": "${U}", "prefix": "p" }, "b": { "command": "x", "prefix": "p" } } }',
    ],
    ["a name that cannot be shown", '{ "mcpServers": { "a\\u0007": { "command": "x" } } }'],
    ["servers that are a list", '{ "mcpServers": [] }'],
    ["an unknown key at the top", '{ "polcy": {} }'],
    ["an unset variable of the admin listener", '{ "listen": { "admin": { "token": "${UNSET}" } } }'],
    ["an unset variable of a key", '{ "auth": { "keys": [{ "id": "a", "key": "${UNSET}" }] } }'],
    ["a policy", '{ "policy": { "default": "maybe" } }'],
    ["an envFile of all servers", '{ "envFile": "/nowhere/.env" }'],
    ["a profile of an unknown server", '{ "profiles": { "p": { "servers": ["nobody"] } } }'],
  ])("%s", (_, text) => {
    expect(readConfig(text, "/p/cardea.jsonc", { env: {}, sections: SECTIONS }).ok).toBe(false);
  });

  test("with what is wrong with servers beside it", () => {
    const outcome = read('{ "polcy": {}, "mcpServers": { "a": { "command": "${UNSET}" } } }');
    expect(outcome).toMatchObject({ ok: false });
    expect(outcome.problems).toHaveLength(2);
  });
});
