/** What of a config matches nothing that its servers list. */
import { expect, test } from "vitest";
import { ineffectiveSettings, type ListedEntries } from "../../src/cli/ineffective.js";
import { readConfig } from "../../src/config/read.js";
import { FEATURES, SECTIONS, testOf } from "../support/features.js";

const entries = (...tools: readonly string[]): ListedEntries => ({
  tools: tools.map((name) => ({
    name,
    annotations: { readOnlyHint: name.startsWith("read") },
    inputSchema: { type: "object", properties: { path: {}, source: {} } },
  })),
  prompts: [],
  resources: [],
  resourceTemplates: [],
});

const LISTED = new Map([
  ["files", entries("read_file", "write_file")],
  ["db", entries("query", "drop")],
]);

async function told(
  file: object,
  listed: ReadonlyMap<string, ListedEntries> = LISTED,
): Promise<readonly string[]> {
  const command = "x";
  const mcpServers = { files: { command }, db: { command } };
  const outcome = readConfig(JSON.stringify({ mcpServers, ...file }), "cardea.json", {
    env: {},
    sections: SECTIONS,
  });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return (await ineffectiveSettings(outcome.config, listed, FEATURES)).map(
    ({ server, path, message }) =>
      `${server === undefined ? "" : `${server}: `}${path.join(".")}: ${message}`,
  );
}

const files = (over: object) => ({ mcpServers: { files: { command: "x", ...over }, db: { command: "x" } } });
const rules = (...given: readonly object[]) => ({
  policy: { rules: given.map((rule, at) => ({ name: `r${at}`, effect: "deny", ...rule })) },
});

test.each([
  [
    files({ tools: { allow: ["read_*", "files__write_file"], deny: ["raed_file"] } }),
    "files: tools.deny.0: no tool of the server has a name like this; did you mean read_file?",
  ],
  [files({ prompts: { deny: ["ask"] } }), "files: prompts.deny.0: the server lists no prompts"],
  [
    files({ overrides: { files__read_fil: { title: "x" }, files__write_file: { title: "y" } } }),
    'files: overrides.files__read_fil: the server lists no tool "files__read_fil"; there is read_file, write_file',
  ],
  [
    files({
      overrides: { read_file: { arguments: { fixed: { pth: 1, path: 2 }, defaults: { sorce: 1 } } } },
    }),
    'files: overrides.read_file.arguments.fixed.pth: the tool "read_file" takes no argument "pth"; did you mean path?',
    'files: overrides.read_file.arguments.defaults.sorce: the tool "read_file" takes no argument "sorce"; did you mean source?',
  ],
  [
    { profiles: { ro: { servers: ["files"], tools: { deny: ["write_*", "files__mve_*"] } } } },
    "profiles.ro.tools.deny.1: no tool is exposed under a name like this; there is files__read_file, files__write_file",
  ],
] as (readonly [object, ...string[]])[])("%j", async (...[file, ...messages]) => {
  expect(await told(file as object)).toEqual(messages);
});

testOf("policy").each([
  [
    rules({ tools: ["files__raed_file", "db__*"] }),
    "policy.rules.0.tools.0: no tool is exposed under a name like this; did you mean files__read_file?",
  ],
  [
    rules({ tools: ["flies__read_*"] }),
    "policy.rules.0.tools.0: no tool is exposed under a name like this; did you mean files__read_*?",
  ],
  [
    rules({ tools: ["query"] }),
    "policy.rules.0.tools.0: no tool is exposed under a name like this; did you mean db__query?",
  ],
  [
    rules({ tools: ["db__*"], annotations: { readOnlyHint: true } }),
    'policy.rules.0: rule "r0" matches nothing: no tool and no prompt that it names has all else that it asks for',
  ],
  [
    { limits: [{ name: "l", tools: ["db__qeury"], rate: "1/s" }] },
    "limits.0.tools.0: no tool is exposed under a name like this; did you mean db__query?",
  ],
  [
    rules(
      { servers: ["files"], tools: ["read_*", "files__write_file"] },
      { tools: ["*"] },
      { servers: ["db"] },
      { methods: ["x/y"] },
      { resources: ["files+x:*"] },
    ),
  ],
] as (readonly [object, ...string[]])[])("%j", async (...[file, ...messages]) => {
  expect(await told(file as object)).toEqual(messages);
});

testOf("policy")("a server that could not be read causes no findings", async () => {
  const one = new Map([["files", entries("read_file")]]);
  expect(
    await told(
      rules({ tools: ["db__nope"] }, { tools: ["*nope"] }, { tools: ["*"], annotations: { x: true } }),
      one,
    ),
  ).toEqual([]);
  expect(await told(rules({ tools: ["files__nope"] }), one)).toHaveLength(1);
});

test("colliding names are reported, with the resulting name of the later one", async () => {
  const bare = { command: "x", prefix: "" };
  const listed = new Map([
    ["a", entries("read")],
    ["b", entries("read")],
  ]);
  expect(await told({ mcpServers: { a: bare, b: bare } }, listed)).toEqual([
    expect.stringMatching(
      /^b: prefix: its tool "read" is listed as read_[a-z2-7]{8}: server a has one of this name/,
    ),
  ]);
});

testOf("policy")("a name that begins with the prefix of another server is not that of a rule", async () => {
  const bare = { command: "x", prefix: "" };
  const foreign = new Map([
    ["a", entries("b__read")],
    ["b", entries("write")],
  ]);
  const deny = rules({ tools: ["b__read"] });
  expect(await told({ mcpServers: { a: bare, b: { command: "x" } }, ...deny }, foreign)).toEqual([
    expect.stringMatching(/^policy\.rules\.0\.tools\.0: no tool is exposed under a name like this/),
  ]);
});
