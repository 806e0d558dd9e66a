import { expect, test } from "vitest";
import { advise } from "../../src/config/advice.js";
import { readConfig } from "../../src/config/read.js";

function adviceOn(config: object): readonly string[] {
  const outcome = readConfig(JSON.stringify(config), "cardea.json", { env: {} });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return advise(outcome.config).map(({ server, message }) =>
    server === undefined ? message : `${server}: ${message}`,
  );
}

const adviceOnServer = (server: object): readonly string[] => adviceOn({ mcpServers: { s: server } });

test.each([
  [{ command: "x", args: ["~/data"] }, "args"],
  [{ command: "x", args: ["--root", "~"] }, "args"],
  [{ command: "x", args: ["--root=~/data"] }, "args"],
  [{ command: "x", args: ["$HOME/data"] }, "args"],
  [{ command: "x", env: { DATA: "~/data" } }, "env"],
  [{ command: "x", env: { PATHS: "/opt:~/bin" } }, "env"],
])("%j has a path that only a shell would expand", (server, key) => {
  expect(adviceOnServer(server)).toEqual([
    `s: its ${key} has a ~ or $NAME that only a shell would expand; write \${HOME}/… or the whole path`,
  ]);
});

test.each([
  { command: "~/bin/x", cwd: "~" },
  { command: "x", args: ["a~b", "file~", "~user-agent", "cost $5", "/srv/~/x"] },
  { command: "x", env: { A: "~2.0.0", B: "x~", C: "$$" } },
  { command: "sh", args: ["~/x.sh"] },
])("%j has none", (server) => {
  expect(adviceOnServer(server)).toEqual([]);
});

test.each([
  [
    { command: "sh", args: ["-c", "x $Y"] },
    "s: it runs a line of sh; what a variable holds becomes part of that line",
  ],
  [
    { command: "/bin/bash", args: ["-lc", "x"] },
    "s: it runs a line of bash; what a variable holds becomes part of that line",
  ],
  [
    { command: "cmd.exe", args: ["/c", "npx", "x"] },
    "s: it runs a line of cmd; what a variable holds becomes part of that line",
  ],
  [{ command: "node", args: ["-e", "x"] }, "s: it runs program text given to node, not a file"],
  [
    { command: "npx -y thing" },
    "s: its command has spaces in it; put only the program into command, and its arguments into args, one by one",
  ],
  [
    { command: "server", args: ["--verbose", "--api-key", "x"] },
    "s: its arguments hold a secret, which every user of this machine can read; most servers take it from env too",
  ],
  [
    { command: "server", args: ["--github-token=x"] },
    "s: its arguments hold a secret, which every user of this machine can read; most servers take it from env too",
  ],
  [
    { url: "http://10.0.0.1/mcp" },
    "s: its url is plain http: to another machine; what is sent can be read and changed",
  ],
])("%j is remarked on", (server, message) => {
  expect(adviceOnServer(server)).toEqual([message]);
});

test.each([
  { url: "http://127.0.0.1:3000/mcp" },
  { url: "http://[::1]:3000/mcp" },
  { url: "http://localhost/mcp" },
  { url: "https://x.example/mcp" },
  { command: "bash", args: ["server.sh"] },
  { command: "/opt/my tools/server" },
  { command: "server", args: ["--token-file", "x", "--api-key", "--max-tokens=5"] },
])("%j is not", (server) => {
  expect(adviceOnServer(server)).toEqual([]);
});

test("warns of names that hosts truncate or drop", () => {
  expect(adviceOn({ naming: { maxLength: 100 }, mcpServers: { s: { command: "x" } } })).toEqual([
    expect.stringContaining("naming.maxLength is over 50"),
  ]);
  expect(adviceOnServer({ command: "x", prefix: "a-very-long-prefix-that-says-too-much" })).toEqual([
    "s: its prefix leaves 11 characters for its own names; longer ones are cut and get a hash",
  ]);
});

test("warns of names that begin like another server's", () => {
  const command = "x";
  expect(adviceOn({ mcpServers: { a: { command }, a__b: { command }, ab: { command } } })).toEqual([
    'a: its prefix begins that of "a__b": names that begin with a__b__ are those of "a__b", and what it itself calls b__… gets a hash ending',
  ]);
  const overrides = { t: { name: "files__read" }, u: { name: "other" } };
  expect(adviceOn({ mcpServers: { bare: { command, prefix: "", overrides }, files: { command } } })).toEqual([
    'bare: the name "files__read" begins like those of server "files", so it gets a hash ending',
  ]);
});

test("warns of servers without prefixes, whose names may collide", () => {
  const bare = { command: "x", prefix: "" };
  expect(adviceOn({ mcpServers: { a: bare, b: { command: "x" }, c: bare } })).toEqual([
    'c: neither it nor "a" has a prefix: a name that both list is that of "a", and gets a hash ending here (cardea doctor says which)',
  ]);
});

test("warns of a config without servers", () => {
  expect(adviceOn({})).toEqual(["there are no servers in it"]);
});
