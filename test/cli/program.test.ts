import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageVersion } from "../../src/cli/help.js";
import { runCommandLine } from "../../src/cli/program.js";
import { inRepository } from "../support/cardea.js";
import { testOf } from "../support/features.js";
import { fakeShell } from "./fake-shell.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-program-"));
  const listen = { http: { host: "filehost", port: 1 } };
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ listen, mcpServers: { a: { command: "x" } } }));
  writeFileSync(join(folder, "insecure.json"), '{ "listen": { "http": { "insecure": true } } }');
  writeFileSync(join(folder, "other.json"), JSON.stringify({ mcpServers: { b: { command: "x" } } }));
  writeFileSync(
    join(folder, "bad.json"),
    '{ "mcpServers": { "b": { "comand": "x" } },\n  "naming": { "maxLength": 1 } }',
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("help", () => {
  test.each([["--help"], ["-h"]])("%s is printed to stdout and fits on a screen", async (flag) => {
    const shell = fakeShell();
    expect(await runCommandLine([flag], shell)).toBe(0);
    const lines = shell.out().trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(84);
    expect(shell.said).toEqual([]);
  });

  test("is printed by the command help as well", async () => {
    const shell = fakeShell();
    expect(await runCommandLine(["help", "key"], shell)).toBe(0);
    expect(shell.out()).toContain("Usage: cardea key");
  });

  test.each([
    "serve",
    "stdio",
    "connect",
    "check",
    "doctor",
    "list",
    "call",
    "explain",
    "import",
    "schema",
    "key",
    "completion",
  ])("%s has its own help with examples, and is listed in the general help", async (command) => {
    const shell = fakeShell();
    expect(await runCommandLine([command, "--help"], shell)).toBe(0);
    expect(shell.out()).toContain(`Usage: cardea ${command}`);
    expect(shell.out()).toMatch(new RegExp(`\nExamples:\n.*cardea ${command}`));
    const all = fakeShell();
    await runCommandLine(["--help"], all);
    expect(all.out()).toContain(`cardea ${command}`);
  });

  test.each(["--version", "-V"])("%s prints the version of the package", async (flag) => {
    const shell = fakeShell();
    expect(await runCommandLine([flag], shell)).toBe(0);
    expect(shell.out()).toBe(`${packageVersion()}\n`);
  });
});

describe("a usage error exits with 2, names the mistake, and prints no data", () => {
  test.each([
    [["chekc"], 'there is no command "chekc"', "(did you mean check?)"],
    [["complet", "bash"], 'there is no command "complet"', "(did you mean completion?)"],
    [["frob", "a", "--b"], 'there is no command "frob"', "(cardea --help lists the commands)"],
    [["run"], 'there is no command "run"', "(did you mean serve?)"],
    [["https://x.example/mcp"], "there is no command", "(did you mean connect URL?)"],
    [["cardea.jsonc"], "there is no command", "(did you mean serve --config FILE?)"],
    [["help", "srve"], 'there is no command "srve"', "(did you mean serve?)"],
    [["key", "revok", "x"], 'there is no command "key revok"', "(did you mean key revoke?)"],
    [["key", "--config", "x"], "--config goes with --add", undefined],
    [["completion"], "missing required argument 'shell'", undefined],
    [["completion", "bsh"], 'there is no completion for "bsh"', "(did you mean bash?)"],
    [["serve", "--prot", "1"], "unknown option '--prot'", "(Did you mean --port?)"],
    [["serve", "--port", "http"], "--port must be a whole number from 0 to 65535", undefined],
    [["serve", "--port", "65536"], "--port must be a whole number from 0 to 65535", undefined],
    [
      ["serve", "--host", ""],
      "option '--host <host>' argument '' is invalid. It must not be empty.",
      undefined,
    ],
    [["check", "--config", ""], "option '--config <file>' argument '' is invalid.", undefined],
    [["--port", "9000"], "a command is missing before --port", "(did you mean serve?)"],
    [["--config", "x.json"], "a command is missing before --config", undefined],
    [["--frob"], "unknown option '--frob'", undefined],
    [["serve", "extra"], "too many arguments for 'serve'. Expected 0 arguments but got 1.", undefined],
    [["list", "toolz"], 'there is no list of "toolz"; did you mean tools?', undefined],
    [["call"], "missing required argument 'name'", undefined],
    [["call", "t", "{"], "the arguments are not JSON", undefined],
    [["call", "t", "[]"], "the arguments must be a JSON object", undefined],
    [["call", "t", "a=1", "b"], '"b" is no argument; write name=text or name:=json', undefined],
    [["call", "t", "a=1", "a:=2"], 'the argument "a" is given twice', undefined],
    [["call", "t", "a:=b"], "what follows a:= is not JSON; text is written a=text", undefined],
    [["explain", "t", "=b"], '"=b" is no argument', undefined],
    [["import"], "missing required argument 'file'", undefined],
    [["connect", "nonsense"], 'a "url" that is not an absolute URL', undefined],
    [
      ["connect", "https://x.example", "--header", "token s3cret"],
      "--header takes a name, a colon and a value",
      undefined,
    ],
    [
      ["connect", "https://x.example", "--header", "Content-Length: 7"],
      "the server's headers: it is set by the gateway itself",
      undefined,
    ],
    [["--"], "after -- comes the command of a server", undefined],
    [["--config", "x", "--", "node"], "--config and -- CMD cannot go together", undefined],
    [["--frob", "--", "node"], "unknown option '--frob'", undefined],
    [[], "a command is missing", undefined],
  ])("%j", async (argv, message, hint) => {
    const shell = fakeShell({ cwd: folder });
    expect(await runCommandLine(argv, shell)).toBe(2);
    expect(shell.said.join("\n")).toContain(message);
    if (hint !== undefined) expect(shell.said.join("\n")).toContain(hint);
    expect(shell.said.join("\n")).not.toContain("s3cret");
    expect(shell.out()).toBe("");
    expect(shell.configs).toEqual([]);
  });

  test("an environment variable is checked like its flag", async () => {
    const shell = fakeShell({ cwd: folder, env: { CARDEA_ADMIN_PORT: "x" } });
    expect(await runCommandLine(["serve"], shell)).toBe(2);
    expect(shell.said).toEqual(["error: CARDEA_ADMIN_PORT must be a whole number from 0 to 65535"]);
  });

  test.each([
    ["serve", "CARDEA_INSECURE"],
    ["serve", "CARDEA_REAP"],
    ["check", "CARDEA_JSON"],
    ["list", "CARDEA_JSON"],
  ])("%s accepts no ambiguous value of %s", async (command, variable) => {
    const shell = fakeShell({ cwd: folder, env: { [variable]: "perhaps" } });
    expect(await runCommandLine([command], shell)).toBe(2);
    expect(shell.said.at(-1)).toBe(`error: ${variable} must be 1 or 0`);
    expect(shell.configs).toEqual([]);
  });
});

test("the help of every flag names its environment variable", async () => {
  const reference = readFileSync(inRepository("docs/commands.md"), "utf8");
  const flags = reference.split(/\n(?= {2}(?:-|\S))/).filter((entry) => entry.startsWith("  --"));
  expect(flags.length).toBeGreaterThan(50);
  expect(flags.filter((entry) => !/CARDEA_[A-Z_]+/.test(entry.split("\n\n")[0] ?? ""))).toEqual([]);
});

describe("listening beyond loopback without authentication", () => {
  test.each([
    [[], {}, false],
    [["--insecure"], {}, true],
    [[], { CARDEA_INSECURE: "1" }, true],
    [[], { CARDEA_INSECURE: "0" }, false],
    [[], { CARDEA_INSECURE: "" }, false],
    [[], { CARDEA_INSECURE: "on" }, true],
    [[], { CARDEA_INSECURE: "off" }, false],
    [["--insecure"], { CARDEA_INSECURE: "false" }, true],
    [["--config", "insecure.json"], {}, true],
    [["--config", "insecure.json"], { CARDEA_INSECURE: "0" }, false],
  ] as [string[], Record<string, string>, boolean][])("%j %j: %s", async (argv, env, insecure) => {
    const shell = fakeShell({ cwd: folder, env });
    shell.signal("SIGTERM");
    expect(await runCommandLine(["serve", ...argv], shell)).toBe(0);
    expect(shell.configs[0]?.listen.http.insecure).toBe(insecure);
  });
});

describe("a flag overrides the environment, which overrides the file, which overrides the default", () => {
  const env = {
    CARDEA_HOST: "envhost",
    CARDEA_PORT: "11",
    CARDEA_CONFIG: "other.json",
  };
  const flags = ["--host", "flaghost", "--port", "21"];

  test.each([
    ["default", [], { CARDEA_CONFIG: "other.json" }, ["b", "127.0.0.1", 8080]],
    ["file", [], {}, ["a", "filehost", 1]],
    ["environment", [], env, ["b", "envhost", 11]],
    ["flags", ["--config", "cardea.json", ...flags], env, ["a", "flaghost", 21]],
    ["empty environment", [], { CARDEA_PORT: "", CARDEA_HOST: "", CARDEA_CONFIG: "" }, ["a", "filehost", 1]],
    [
      "what Kubernetes sets for a Service called cardea",
      [],
      { CARDEA_PORT: "tcp://10.0.0.1:80" },
      ["a", "filehost", 1],
    ],
  ])("%s", async (_, argv, environment, expected) => {
    const shell = fakeShell({ cwd: folder, env: environment });
    shell.signal("SIGTERM");
    expect(await runCommandLine(["serve", ...argv], shell)).toBe(0);
    const [config] = shell.configs;
    const { http } = config?.listen ?? {};
    expect([config?.servers[0]?.name, http?.host, http?.port]).toEqual(expected);
  });

  test("and so for a command after --", async () => {
    const shell = fakeShell({ cwd: folder, env });
    shell.signal("SIGTERM");
    expect(await runCommandLine(["--port", "0", "--", "node", "s.js", "--port", "9", "--", "x"], shell)).toBe(
      0,
    );
    const [config] = shell.configs;
    expect([config?.listen.http.host, config?.listen.http.port]).toEqual(["envhost", 0]);
    expect(config?.servers).toMatchObject([
      { prefix: "", transport: { args: ["s.js", "--port", "9", "--", "x"], cwd: folder } },
    ]);
  });
});

describe("the config in use", () => {
  test.each([
    [["--config", "other.json"], {}, "info: using other.json, named by --config"],
    [[], { CARDEA_CONFIG: "other.json" }, "info: using other.json, named by CARDEA_CONFIG"],
    [[], {}, "info: using cardea.json"],
  ])("is logged: %j %j", async (argv, env, line) => {
    const shell = fakeShell({ cwd: folder, env });
    expect(await runCommandLine(["list", ...argv], shell)).toBe(0);
    expect(shell.said[0]).toBe(line);
  });

  test.each(["serve", "stdio", "list", "call"])(
    "that is invalid makes %s print all problems and exit with 78",
    async (command) => {
      const shell = fakeShell({ cwd: folder });
      const argv = command === "call" ? ["call", "x"] : [command];
      expect(await runCommandLine([...argv, "--config", "bad.json"], shell)).toBe(78);
      expect(shell.said).toEqual(
        [
          "info: using bad.json, named by --config",
          'error: bad.json:1:19: server "b" needs a "command" or a "url"',
          'error: bad.json:1:26: server "b" has an unknown key "comand"; did you mean "command"?',
          "error: bad.json:2:28: naming.maxLength must be at least 24",
        ].filter((line) => !line.includes("needs a")),
      );
      expect(shell.out()).toBe("");
      expect(shell.configs).toEqual([]);
    },
  );

  test("that does not exist is an error", async () => {
    const shell = fakeShell({ cwd: "/", env: { HOME: "/nowhere" } });
    expect(await runCommandLine(["serve"], shell)).toBe(78);
    expect(shell.said.join()).toContain("no config file: looked for cardea.jsonc, cardea.json, cardea.yaml");
  });

  test("that does not exist is an error in the JSON of check as well", async () => {
    const shell = fakeShell({ cwd: "/", env: { HOME: "/nowhere" } });
    expect(await runCommandLine(["check", "--json"], shell)).toBe(78);
    const sentence = expect.stringMatching(/^no config file: looked for .*; --config names another$/);
    expect(JSON.parse(shell.out())).toEqual({
      ok: false,
      servers: [],
      misconfigured: [],
      problems: [{ message: sentence }],
      warnings: [],
    });
    expect(shell.said).toEqual([
      expect.stringMatching(/^error: no config file: .*; --config names another$/),
    ]);
  });
});

describe("check", () => {
  test("prints every problem and exits with 78", async () => {
    const shell = fakeShell({ cwd: folder });
    expect(await runCommandLine(["check", "--config", "bad.json"], shell)).toBe(78);
    expect(shell.out()).toBe(
      'bad.json:1:26: server "b" has an unknown key "comand"; did you mean "command"?\n' +
        "bad.json:2:28: naming.maxLength must be at least 24\n",
    );
  });

  test("prints the problems as JSON", async () => {
    const shell = fakeShell({ cwd: folder });
    expect(await runCommandLine(["check", "--config", "bad.json", "--json"], shell)).toBe(78);
    expect(JSON.parse(shell.out())).toEqual({
      file: "bad.json",
      ok: false,
      servers: [],
      misconfigured: [],
      problems: [
        {
          file: "bad.json",
          line: 1,
          column: 26,
          message: 'server "b" has an unknown key "comand"; did you mean "command"?',
        },
        { file: "bad.json", line: 2, column: 28, message: "naming.maxLength must be at least 24" },
      ],
      warnings: [],
    });
  });

  testOf("packages")(
    "warns with line and column, without values of variables, and exits with 0",
    async () => {
      const file = join(folder, "odd.yaml");
      writeFileSync(file, 'mcpServers:\n  a:\n    command: npx\n    args: ["-y", "${PACKAGE}"]\n');
      const shell = fakeShell({ cwd: folder, env: { PACKAGE: "s3cret-package", CARDEA_JSON: "0" } });
      expect(await runCommandLine(["check", "--config", "odd.yaml"], shell)).toBe(0);
      expect(shell.out()).toBe(
        'odd.yaml:4:11: warning: server "a": it runs whatever version of … is newest; pin one, such as …@1.2.3\n' +
          "odd.yaml: all right, 1 server\n",
      );
    },
  );

  testOf("packages")("leaves its own words as they are, whatever the values of variables are", async () => {
    const file = {
      mcpServers: {
        a: { command: "npx", args: ["-y", "pkg-${TOK}"], env: { A: "${WORD}", B: "${MORE}" } },
        b: { command: "x", prefix: "a_very_long_prefix_of_a_server_of_this_config" },
      },
    };
    writeFileSync(join(folder, "words.json"), JSON.stringify(file));
    const env = { TOK: "1", WORD: "version", MORE: "characters" };
    const shell = fakeShell({ cwd: folder, env });
    expect(await runCommandLine(["check", "--config", "words.json"], shell)).toBe(0);
    expect(shell.out()).toContain(
      "it runs whatever version of pkg-… is newest; pin one, such as pkg-…@1.2.3",
    );
    expect(shell.out()).toContain("its prefix leaves 3 characters for its own names");
  });

  test.each([
    ['{ "listen": { "http": { "host": "0.0.0.0" } } }', {}, 78, "1:33: serve refuses to listen on 0.0.0.0"],
    ["{}", { CARDEA_HOST: "0.0.0.0" }, 78, "1:1: serve refuses to listen on 0.0.0.0"],
    ["{}", { CARDEA_HOST: "0.0.0.0", CARDEA_INSECURE: "1" }, 0, "all right"],
  ] as [string, Record<string, string>, number, string][])(
    "reports what serve would refuse: %s %j",
    async (text, env, code, message) => {
      writeFileSync(join(folder, "exposed.json"), text);
      const shell = fakeShell({ cwd: folder, env });
      expect(await runCommandLine(["check", "--config", "exposed.json"], shell)).toBe(code);
      expect(shell.out()).toContain(message);
    },
  );

  test("warns of the cwd of a stdio server that is not a folder, with line and column and without values of variables", async () => {
    const missing = '{ "command": "x", "cwd": "./no-such-folder/${PLACE}" }';
    const aFile = '{ "command": "x", "cwd": "bad.json" }';
    const aFolder = '{ "command": "x", "cwd": "." }';
    writeFileSync(
      join(folder, "cwd.json"),
      `{ "mcpServers": {\n"a": ${missing},\n"b": ${aFile},\n"c": ${aFolder}\n} }`,
    );
    const shell = fakeShell({ cwd: folder, env: { PLACE: "s3cret" } });
    expect(await runCommandLine(["check", "--config", "cwd.json"], shell)).toBe(0);
    expect(shell.out()).toBe(
      `cwd.json:2:31: warning: server "a": its cwd does not exist: ${folder}/no-such-folder/…\n` +
        `cwd.json:3:31: warning: server "b": its cwd is not a folder: ${folder}/bad.json\n` +
        "cwd.json: all right, 3 servers\n",
    );
  });

  test("warns of rules that never decide", async () => {
    const file = join(folder, "shadow.yaml");
    writeFileSync(
      file,
      "mcpServers: { a: { command: true-server } }\npolicy:\n  rules:\n    - { name: all, effect: deny }\n    - { name: some, tools: [a__x, b__x], effect: allow }\n",
    );
    const shell = fakeShell({ cwd: folder });
    expect(await runCommandLine(["check", "--config", "shadow.yaml"], shell)).toBe(0);
    expect(shell.out()).toBe(
      'shadow.yaml:5:35: warning: "b__x" matches no name: they begin with a__; did you mean a__x?\n' +
        'shadow.yaml:5:7: warning: rule "some" never decides: "all" matches all that it matches, and comes first\n' +
        "shadow.yaml: all right, 1 server\n",
    );
  });
});

test("schema prints a JSON Schema", async () => {
  const shell = fakeShell();
  expect(await runCommandLine(["schema"], shell)).toBe(0);
  expect(JSON.parse(shell.out())).toMatchObject({ type: "object", additionalProperties: false });
});
