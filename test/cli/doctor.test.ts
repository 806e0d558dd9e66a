import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ProbeResult, probeServer } from "../../src/cli/probe.js";
import { runCommandLine } from "../../src/cli/program.js";
import type { Finding } from "../../src/core/replicas.js";
import { Redactor } from "../../src/telemetry/redact.js";
import { connectProxy, proxyEnvironment } from "../support/connect-proxy.js";
import { CHANNELS, hasFeature, testOf } from "../support/features.js";
import { fakeShell } from "./fake-shell.js";

const HAS_APIS = hasFeature("openapi");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-doctor-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Report {
  readonly server: string;
  readonly ok: boolean;
  readonly cause: string;
  readonly sentence: string;
  readonly advice?: string;
  readonly stderr: readonly string[];
}

function write(mcpServers: object): void {
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers }));
}

const node = (program: string, more: object = {}) => ({ command: "node", args: ["-e", program], ...more });

describe("doctor with real servers", () => {
  const memory = fileURLToPath(
    new URL("../../node_modules/@modelcontextprotocol/server-memory/dist/index.js", import.meta.url),
  );
  /** The memory server behind a line of its own. */
  const memoryAfter = (line: string) => ({
    ...node(`${line}; import(${JSON.stringify(memory)})`),
    env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
  });
  const web = createServer((request, response) => {
    if (request.url === "/basic")
      response.writeHead(401, { "www-authenticate": "Basic" }).end('{"message":"ask the team"}');
    else response.writeHead(request.url === "/closed" ? 401 : 404).end();
  });
  let port = 0;
  let reports: readonly Report[] = [];
  let code: number | undefined;

  beforeAll(async () => {
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    ({ port } = web.address() as AddressInfo);
    write({
      fine: { command: "node", args: [memory], env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } },
      port: memoryAfter(
        `require("net").createServer().on("error", () => process.exit(1)).listen(${JSON.stringify(join(folder, "port"))})`,
      ),
      jealous: memoryAfter(
        `const fs = require("fs"), file = ${JSON.stringify(join(folder, "pid"))}; try { process.kill(+fs.readFileSync(file)) } catch {} fs.writeFileSync(file, "" + process.pid)`,
      ),
      gone: { command: "no-such-program-anywhere" },
      line: { command: "node server.js" },
      folder: { command: "node", cwd: "/no/such/folder" },
      file: { command: "node", args: ["./no-such-file.js"] },
      module: node("import('no-such-module-anywhere')"),
      package: node(
        "console.error('npm error code E404\\nnpm error 404 Not Found - GET https://registry.npmjs.org/@x%2fy - Not found'); process.exit(1)",
      ),
      exits: node("console.error('the database is ${SECRET}'); process.exit(3)"),
      variable: node(
        "console.error('Error: BRAVE_API_KEY environment variable is required'); process.exit(1)",
      ),
      // It ends when it was asked something, so nothing waits for a time to be over.
      banner: { command: "sh", args: ["-c", "echo 'Welcome!'; read line"] },
      silent: node("setInterval(() => {}, 1000)", { connectTimeout: "1s" }),
      closed: { url: `http://127.0.0.1:${port}/closed` },
      basic: { url: `http://127.0.0.1:${port}/basic`, headers: { "x-api-key": "${SECRET}" } },
      nowhere: { url: `http://127.0.0.1:${port}/nowhere` },
      nobody: { url: "http://127.0.0.1:9/mcp" },
      ...(HAS_APIS && {
        undocumented: { type: "openapi", url: `http://127.0.0.1:${port}/openapi.json` },
        unreachable: { type: "openapi", url: "http://127.0.0.1:9/openapi.json" },
      }),
    });
    const shell = fakeShell({
      cwd: folder,
      env: { SECRET: "s3cret" },
      examine: (server, signal) =>
        probeServer(server, { gateway: { name: "cardea", version: "0" }, signal, channels: CHANNELS }),
    });
    code = await runCommandLine(["doctor", "--json"], shell);
    reports = (JSON.parse(shell.out()) as { servers: Report[] }).servers;
  });
  afterAll(() => web.close());

  function isReported(server: string | RegExp, cause: string | RegExp, sentence: string | RegExp): void {
    const found = reports.find((report) => report.server === server);
    expect(found).toMatchObject({ ok: cause === "ok", cause, sentence: expect.stringMatching(sentence) });
  }

  test.each([
    ["fine", "ok", /^all right: memory-server [\d.]+, \d+ tools$/],
    ["gone", "command_not_found", /^command not found: no-such-program-anywhere$/],
    ["line", "command_not_found", /^command not found: node server.js$/],
    ["folder", "folder_not_found", /\/no\/such\/folder$/],
    ["file", "file_not_found", /no-such-file\.js$/],
    ["module", "module_not_found", /no-such-module-anywhere$/],
    ["package", "package_not_found", /^package not found: @x\/y$/],
    ["exits", "exits_at_once", /^it exits at once with code 3/],
    ["variable", "needs_variable", /^it needs the variable BRAVE_API_KEY$/],
    ["banner", "speaks_no_mcp", /begins with "Welcome!"$/],
    ["silent", "no_answer", /^it runs, but does not answer/],
    ["closed", "credentials", /^it answers 401: the credentials in the config were refused \(there are none/],
    [
      "basic",
      "credentials",
      /^it answers 401 and asks for Basic: the credentials in the config were refused; it says: "ask the team"$/,
    ],
    ["nowhere", "not_found", /^there is nothing at \/nowhere$/],
    ["nobody", "nobody_listens", /^connection refused: no server listens at 127\.0\.0\.1:9$/],
  ])("%s: %s", (server, cause, sentence) => isReported(server, cause, sentence));

  test.skipIf(!HAS_APIS).each([
    ["undocumented", "bad_document", /has no document at http:.*\/openapi\.json: HTTP status 404$/],
    ["unreachable", "nobody_listens", /no server listens at 127\.0\.0\.1:9$/],
  ])("%s: %s", (server, cause, sentence) => isReported(server, cause, sentence));

  test("the report has every server in the order of the file, and the exit code is 1", () => {
    expect(reports.map(({ server }) => server)).toEqual([
      ...[
        "fine",
        "port",
        "jealous",
        "gone",
        "line",
        "folder",
        "file",
        "module",
        "package",
        "exits",
        "variable",
      ],
      ...[
        "banner",
        "silent",
        "closed",
        "basic",
        "nowhere",
        "nobody",
        ...(HAS_APIS ? ["undocumented", "unreachable"] : []),
      ],
    ]);
    expect(code).toBe(1);
  });

  test("hints are shown whole: what they say of variables is no secret", () => {
    const hints = reports.flatMap(({ server, advice }) =>
      advice === undefined ? [] : [[server, advice] as const],
    );
    const shown = Object.fromEntries(hints.map(([server, advice]) => [server, new Redactor().text(advice)]));
    expect(shown).toEqual(Object.fromEntries(hints));
    expect(shown.closed).toContain('"Authorization": "Bearer ${TOKEN}"');
    expect(shown.variable).toContain('"BRAVE_API_KEY": "${BRAVE_API_KEY}"');
  });

  test("a server of which only one process can run is reported, with the key that shares it", () => {
    const told = reports.filter(({ advice }) => advice?.includes('set its lease to "shared"') === true);
    expect(told.map(({ server, ok }) => ({ server, ok }))).toEqual([
      { server: "port", ok: true },
      { server: "jealous", ok: true },
    ]);
  });

  test("the stderr of a server is shown once, without secrets", () => {
    expect(reports.find(({ server }) => server === "exits")?.stderr).toEqual(["the database is [redacted]"]);
  });
});

describe("doctor behind a proxy", () => {
  const shellFor = () =>
    fakeShell({
      cwd: folder,
      examine: (server, signal) =>
        probeServer(server, { gateway: { name: "cardea", version: "0" }, signal, channels: CHANNELS }),
    });

  test("names the proxy of each server, without its password, and tells its refusal from the server's", async () => {
    const proxy = await connectProxy((authority) => ({ status: authority.startsWith("open.") ? 502 : 407 }));
    proxyEnvironment({ HTTPS_PROXY: proxy.url.replace("//", "//me:hunter22@") });
    write({
      shut: { url: "https://shut.corp.test/mcp" },
      open: { url: "https://open.corp.test/mcp" },
      own: { url: "https://own.corp.test/mcp", proxy: "http://127.0.0.1:1" },
      local: { url: "http://127.0.0.1:9/mcp" },
    });
    const json = shellFor();
    expect(await runCommandLine(["doctor", "--json"], json)).toBe(1);
    const shown = `${proxy.url} (HTTPS_PROXY)`;
    const { servers } = JSON.parse(json.out()) as { readonly servers: readonly object[] };
    expect(servers).toMatchObject([
      {
        cause: "proxy",
        proxy: shown,
        sentence: `the proxy ${shown} refused the credentials in its URL: it answered 407 Proxy Authentication Required`,
        advice: expect.stringContaining(": USER:PASSWORD@HOST:PORT"),
      },
      { cause: "proxy", proxy: shown, advice: expect.stringContaining("NO_PROXY") },
      { cause: "proxy", proxy: "http://127.0.0.1:1 (proxy of the config)" },
      { cause: "nobody_listens" },
    ]);
    expect(servers[3]).not.toHaveProperty("proxy");
    const text = shellFor();
    await runCommandLine(["doctor"], text);
    expect(text.out()).toContain(`proxy: ${shown}\n`);
    expect(json.out() + text.out() + text.said.join()).not.toContain("hunter22");
  });
});

describe("doctor with simulated servers", () => {
  const because = (code: string, message = "x cannot be reached"): ProbeResult => ({
    error: new Error(message, { cause: Object.assign(new Error(code), { code }) }),
    stderr: [],
    nonProtocolOutput: [],
  });

  test.each([
    [because("ENOTFOUND"), "host_not_found", "no such host: mcp.example"],
    [
      because("CERT_HAS_EXPIRED", "its certificate has expired"),
      "tls",
      "the secure connection cannot be made: its certificate has expired",
    ],
    [
      because("DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is self-signed"),
      "tls",
      "the secure connection cannot be made: its certificate is self-signed",
    ],
    [
      because("ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another host"),
      "tls",
      "the secure connection cannot be made: its certificate is for another host",
    ],
    [because("OTHER", "x refused initialize: no"), "refused", "x refused initialize: no"],
  ])("a URL that cannot be connected to: %#", async (seen, cause, sentence) => {
    write({ x: { url: "https://mcp.example/mcp" } });
    const shell = fakeShell({ cwd: folder, examine: async () => seen });
    expect(await runCommandLine(["doctor", "--json"], shell)).toBe(1);
    expect(JSON.parse(shell.out())).toMatchObject({ servers: [{ cause, sentence }] });
  });

  test.each([
    [
      "missing required environment variable: GITHUB_PERSONAL_ACCESS_TOKEN",
      "needs_variable",
      "it needs the variable GITHUB_PERSONAL_ACCESS_TOKEN",
    ],
    [
      "Please set the SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables",
      "needs_variable",
      "it needs the variable SLACK_BOT_TOKEN",
    ],
    ["ValueError: `OPENAI_API_KEY` not set", "needs_variable", "it needs the variable OPENAI_API_KEY"],
    ["KeyError: 'API_BASE'", "needs_variable", "it needs the variable API_BASE"],
    [
      "Error: No access token was provided.\nRun `x auth login` first, or pass `--access-token` / `X_ACCESS_TOKEN`.\nUsage: x [--access-token=<token>]",
      "needs_variable",
      "it needs the variable X_ACCESS_TOKEN",
    ],
    [
      "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because mcp-nope was not found in the package registry and you require",
      "package_not_found",
      "package not found: mcp-nope",
    ],
    [
      "npm error code ETARGET\nnpm error notarget No matching version found for left-pad@99.0.0.",
      "package_not_found",
      "package not found: left-pad@99.0.0",
    ],
    ["npm error code ENOTFOUND", "registry_unreachable", "the package registry cannot be reached"],
    [
      "python: can't open file '/x/y.py': [Errno 2] No such file or directory",
      "file_not_found",
      "its args name a file that does not exist: /x/y.py",
    ],
    [
      "ModuleNotFoundError: No module named 'mcp'",
      "module_not_found",
      "a module that it needs is not installed: mcp",
    ],
    [
      "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
      "docker_not_running",
      "Docker is not running",
    ],
    [
      "Error: Cannot find module './dist/server.js'\nRequire stack:\n- /x/node_modules/pkg/index.js\n    at Module._load",
      "broken_install",
      "a file of the server itself is missing: ./dist/server.js",
    ],
    [
      "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/x/build/tools.js' imported from /x/build/index.js",
      "broken_install",
      "a file of the server itself is missing: /x/build/tools.js",
    ],
    [
      "Error: Cannot find module '/x/y.js'\n    at Module._load {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}",
      "file_not_found",
      "its args name a file that does not exist: /x/y.js",
    ],
    [
      "npm error code E503\nnpm error 503 Service Unavailable",
      "registry_unreachable",
      "the package registry cannot be reached",
    ],
    [
      "NewConnectionError(...): Failed to establish a new connection\nERROR: No matching distribution found for x, see https://pypi.org/simple/x/",
      "registry_unreachable",
      "the package registry cannot be reached",
    ],
    [
      "Error: connect ECONNREFUSED 10.0.0.1:5432",
      "network_failed",
      "it cannot reach an address that it needs; see its output below",
    ],
    ["usage: server.py [-h] --db DB", "needs_arguments", "it wants other arguments: server.py [-h] --db DB"],
    ["Segmentation fault", "exits_at_once", "it exits at once with code 1: Segmentation fault"],
    ["loading\nout of disk\n\n", "exits_at_once", "it exits at once with code 1: out of disk"],
    [
      "npm error code EBADPLATFORM\nnpm error notsup Unsupported platform\nnpm error A complete log of this run can be found in: /x.log",
      "exits_at_once",
      "it exits at once with code 1: npm error code EBADPLATFORM",
    ],
  ])("a process that wrote %j to stderr", async (said, cause, sentence) => {
    write({ x: { command: "x" } });
    const seen = {
      error: new Error("x exited with code 1; last output: y"),
      stderr: said.split("\n"),
      nonProtocolOutput: [],
    };
    const shell = fakeShell({ cwd: folder, examine: async () => seen });
    expect(await runCommandLine(["doctor", "--json"], shell)).toBe(1);
    expect(JSON.parse(shell.out())).toMatchObject({ servers: [{ cause, sentence }] });
  });

  test.each([
    [
      503,
      "server_error",
      "it answers with status 503: mcp.example, or what is behind it, is down or overloaded",
    ],
    [405, "speaks_no_mcp", "it does not speak MCP at /mcp: it answers with status 405"],
  ])("a URL that responds with status %i", async (status, cause, sentence) => {
    write({ x: { url: "https://mcp.example/mcp" } });
    const error = Object.assign(new Error("x"), { status });
    const shell = fakeShell({
      cwd: folder,
      examine: async () => ({ error, stderr: [], nonProtocolOutput: [] }),
    });
    expect(await runCommandLine(["doctor", "--json"], shell)).toBe(1);
    expect(JSON.parse(shell.out())).toMatchObject({ servers: [{ cause, sentence }] });
  });

  describe("a command that is still fetching", () => {
    const timedOut = (lines: readonly string[], stdout: readonly string[] = []) => ({
      error: new Error("x did not answer within 180 s"),
      stderr: lines,
      nonProtocolOutput: stdout,
    });
    const ask = async (server: object, seen: ProbeResult) => {
      write({ x: server });
      const shell = fakeShell({ cwd: folder, examine: async () => seen });
      expect(await runCommandLine(["doctor", "--json"], shell)).toBe(1);
      return (JSON.parse(shell.out()) as { servers: Report[] }).servers[0];
    };

    test.each([
      ["npx", ["-y", "@x/y@1"], [], "npx is fetching the package @x/y@1"],
      [
        "/usr/bin/npx",
        ["--package=@x/y", "y"],
        ["npm warn deprecated z@1: gone"],
        "npx is fetching the package @x/y",
      ],
      [
        "npx.cmd",
        ["y"],
        ["npm warn exec The following package was not found and will be installed: y"],
        "npx is",
      ],
      ["cmd", ["/c", "npx", "-y", "y"], [], "npx is fetching the package y"],
      ["bunx", ["y"], ["Resolving dependencies", "Saved lockfile"], "bunx is fetching the package y"],
      ["pnpm", ["dlx", "y"], ["Progress: resolved 12, reused 3"], "pnpm dlx is fetching the package y"],
      [
        "uvx",
        ["--from", "y", "z"],
        ["Downloading cryptography (4.1MiB)", " Building lxml==5"],
        "uvx is fetching the package y",
      ],
      ["pipx", ["run", "y"], ["creating virtual environment..."], "pipx run is fetching the package y"],
      [
        "docker",
        ["run", "-i", "y"],
        ["Unable to find image 'y:latest' locally", "latest: Pulling from library/y"],
        "docker is fetching the image",
      ],
    ])("%s %j", async (command, args, lines, sentence) => {
      const found = await ask({ command, args }, timedOut(lines));
      expect(found).toMatchObject({ cause: "fetching", sentence: expect.stringContaining(sentence) });
      expect(found?.sentence).toContain("takes longer than 180 s");
      expect(found?.advice).toContain("connectTimeout");
    });

    test("is not assumed where the server itself has written something, or has ended", async () => {
      const npx = { command: "npx", args: ["-y", "y"] };
      expect(await ask(npx, timedOut(["listening on port 3000"]))).toMatchObject({
        cause: "no_answer",
        sentence: expect.stringMatching(/; its last output: listening on port 3000$/),
      });
      expect(await ask(npx, timedOut([], ["Welcome!"]))).toMatchObject({ cause: "speaks_no_mcp" });
      expect(
        await ask(npx, {
          error: new Error("x exited with code 1"),
          stderr: ["npm warn x"],
          nonProtocolOutput: [],
        }),
      ).toMatchObject({ cause: "exits_at_once" });
      expect(await ask({ command: "node", args: ["x.js"] }, timedOut([]))).toMatchObject({
        cause: "no_answer",
      });
    });
  });

  test("an error message on stdout is explained, too, and not only reported as non-protocol output", async () => {
    write({ x: { command: "x" } });
    const seen = {
      error: new Error("x exited with code 1"),
      stderr: [],
      nonProtocolOutput: ["Error: getaddrinfo ENOTFOUND api.example"],
    };
    const shell = fakeShell({ cwd: folder, examine: async () => seen });
    expect(await runCommandLine(["doctor", "--json"], shell)).toBe(1);
    expect(JSON.parse(shell.out())).toMatchObject({ servers: [{ cause: "network_failed" }] });
  });

  test("the text report has advice and stderr, with terminal escapes removed", async () => {
    write({ a: { command: "x" }, b: { command: "y", required: true } });
    const shell = fakeShell({
      cwd: folder,
      examine: async ({ name }) =>
        name === "a"
          ? {
              connected: {
                serverInfo: { name: "A\u001b[31m", version: "1" },
                tools: 1,
                names: { tools: [], prompts: [] },
                malformed: [],
              },
              stderr: [],
              nonProtocolOutput: ["hello"],
            }
          : { error: new Error("b exited with code 1"), stderr: ["\u001b[2Jgone"], nonProtocolOutput: [] },
    });
    expect(await runCommandLine(["doctor"], shell)).toBe(69);
    expect(shell.out()).toBe(`ok    a: all right: A\\u001b[31m 1, 1 tool
      it also writes lines to stdout that are not JSON-RPC; they belong on stderr, and other hosts may fail on them
WRONG b: it exits at once with code 1: \\u001b[2Jgone
      | \\u001b[2Jgone
`);
  });

  test("names malformed list entries of a server, which stays healthy", async () => {
    write({ a: { command: "x" } });
    const malformed = [
      { list: "tools", name: "odd\u001b[2J", member: "description", reason: "must be a string, not null" },
      { list: "prompts", member: "prompts[1]", reason: "must be an object, not null" },
    ] as const;
    const seen: ProbeResult = {
      connected: { serverInfo: {}, tools: 2, names: { tools: [], prompts: [] }, malformed },
      stderr: [],
      nonProtocolOutput: [],
    };
    const asText = fakeShell({ cwd: folder, examine: async () => seen });
    expect(await runCommandLine(["doctor"], asText)).toBe(0);
    expect(asText.out()).toBe(`ok    a: all right: 2 tools
      it has invalid list entries, which are left out: tools "odd\\u001b[2J": description must be a string, not null; prompts: prompts[1] must be an object, not null
`);
    const asJson = fakeShell({ cwd: folder, examine: async () => seen });
    expect(await runCommandLine(["doctor", "--json"], asJson)).toBe(0);
    expect(JSON.parse(asJson.out())).toMatchObject({
      servers: [
        {
          ok: true,
          malformed: [{ list: "tools", name: "odd\\u001b[2J", member: "description" }, { list: "prompts" }],
        },
      ],
    });
  });

  test("names the tools and prompts that begin with the prefix of another server", async () => {
    write({ bare: { command: "x", prefix: "" }, files: { command: "y" } });
    const names = { tools: ["files__read_file", "search"], prompts: ["files__ask"] };
    const none = { tools: ["files__x"], prompts: [] };
    const shell = fakeShell({
      cwd: folder,
      examine: async ({ name }) => ({
        connected: { serverInfo: {}, tools: 2, names: name === "bare" ? names : none, malformed: [] },
        stderr: [],
        nonProtocolOutput: [],
      }),
    });
    expect(await runCommandLine(["doctor"], shell)).toBe(0);
    expect(shell.out()).toBe(`ok    bare: all right: 2 tools
      names that begin with the prefix of another server get a hash ending: "files__read_file" (of "files"), "files__ask" (of "files")
ok    files: all right: 2 tools
`);
  });

  const listing = (...tools: readonly string[]): ProbeResult => ({
    connected: {
      serverInfo: {},
      tools: 3,
      shownTools: 2,
      names: { tools: [], prompts: [] },
      lists: {
        tools: tools.map((name) => ({ name })),
        prompts: [],
        resources: [],
        resourceTemplates: [],
      },
      malformed: [],
    },
    stderr: [],
    nonProtocolOutput: [],
  });

  test("counts tools after filters, and warns with line and column of filters that match nothing", async () => {
    write({ files: { command: "x", tools: { deny: ["raed_file"] } } });
    const shell = fakeShell({ cwd: folder, examine: async () => listing("read_file") });
    expect(await runCommandLine(["doctor"], shell)).toBe(0);
    const warning = 'server "files": no tool of the server has a name like this; did you mean read_file?';
    expect(shell.out()).toBe(`ok    files: all right: 2 of 3 tools\ncardea.json:1:56: warning: ${warning}\n`);
    const asJson = fakeShell({ cwd: folder, examine: async () => listing("read_file") });
    expect(await runCommandLine(["doctor", "--json"], asJson)).toBe(0);
    expect(JSON.parse(asJson.out())).toMatchObject({
      file: "cardea.json",
      servers: [{ server: "files", ok: true }],
      warnings: [{ line: 1, message: warning }],
    });
  });

  testOf("policy")("the JSON has all warnings, and neither stdout nor stderr has one as text", async () => {
    const rule = { name: "r", principals: ["zoe"], effect: "deny" };
    const config = { mcpServers: { files: { command: "x" } }, policy: { rules: [rule] } };
    writeFileSync(join(folder, "cardea.json"), JSON.stringify(config));
    chmodSync(join(folder, "cardea.json"), 0o666);
    onTestFinished(() => chmodSync(join(folder, "cardea.json"), 0o644));
    const shell = fakeShell({ cwd: folder, examine: async () => listing("read_file") });
    expect(await runCommandLine(["doctor", "--json"], shell)).toBe(0);
    expect((JSON.parse(shell.out()) as { warnings: unknown }).warnings).toEqual([
      { file: "cardea.json", line: 1, column: 1, message: expect.stringContaining("world-writable") },
      expect.objectContaining({
        message: expect.stringContaining("no host over HTTP comes as this principal"),
      }),
    ]);
    expect(shell.said.filter((line) => line.includes("warn"))).toEqual([]);
  });

  testOf("policy")("has the warnings of check about rules, and only one warning for each glob", async () => {
    const rule = { name: "r", tools: ["flies__*"], principals: ["zoe"], effect: "deny" };
    const config = { mcpServers: { files: { command: "x" } }, policy: { rules: [rule] } };
    writeFileSync(join(folder, "cardea.json"), JSON.stringify(config));
    const shell = fakeShell({ cwd: folder, examine: async () => listing("read_file") });
    expect(await runCommandLine(["doctor"], shell)).toBe(0);
    expect(shell.out().trimEnd().split("\n")).toEqual([
      "ok    files: all right: 2 of 3 tools",
      expect.stringMatching(
        /: warning: no tool is exposed under a name like this; did you mean files__\*\?$/,
      ),
      expect.stringMatching(/: warning: no host over HTTP comes as this principal/),
    ]);
    const unread: ProbeResult = { stderr: [], nonProtocolOutput: [] };
    const none = fakeShell({ cwd: folder, examine: async () => unread });
    expect(await runCommandLine(["doctor"], none)).toBe(1);
    expect(none.out()).toMatch(/warning: "\S+" matches no name: .* did you mean files__\*\?/);
  });

  test("prints the report of a server as soon as it has answered", async () => {
    write({ slow: { command: "x" }, quick: { command: "x" } });
    let answer = (_: ProbeResult): void => {};
    const slow = new Promise<ProbeResult>((resolve) => (answer = resolve));
    const shell = fakeShell({
      cwd: folder,
      examine: async ({ name }) => (name === "slow" ? slow : listing()),
    });
    const ended = runCommandLine(["doctor"], shell);
    await vi.waitFor(() => expect(shell.out()).toBe("ok    quick: all right: 2 of 3 tools\n"), {
      timeout: 60_000,
    });
    answer(listing());
    expect(await ended).toBe(0);
    expect(shell.out()).toContain("ok    slow: all right");
  });

  test.each([
    [{}, "\u001b[32m✓\u001b[0m \u001b[1ma\u001b[0m: all right: 2 of 3 tools\n"],
    [{ NO_COLOR: "1" }, "ok    a: all right: 2 of 3 tools\n"],
    [{ TERM: "dumb" }, "ok    a: all right: 2 of 3 tools\n"],
  ] as [Record<string, string>, string][])("on a terminal with %j", async (env, text) => {
    write({ a: { command: "x" } });
    const shell = fakeShell({ cwd: folder, env, examine: async () => listing() });
    Object.assign(shell.stdout, { isTTY: true });
    expect(await runCommandLine(["doctor"], shell)).toBe(0);
    expect(shell.out()).toBe(text);
  });

  testOf("cluster")(
    "the parts of a cluster have their lines, and one that is wrong is a failure",
    async () => {
      const file = {
        mcpServers: { a: { command: "x" } },
        keys: { state: "a secret of all replicas, 32 long" },
        cluster: { store: { url: "redis://s" }, peers: { listen: "10.0.0.7:9001" } },
      };
      writeFileSync(join(folder, "cardea.json"), JSON.stringify(file));
      const findings: Finding[] = [{ about: "store", ok: true, sentence: "it answers" }];
      const examine = async () => listing();
      const asked = () => fakeShell({ cwd: folder, examine, findings: async () => ({ cluster: findings }) });
      const well = asked();
      expect(await runCommandLine(["doctor"], well)).toBe(0);
      expect(well.out()).toContain("ok    cluster: store: it answers\n");
      findings.push({
        about: "replica abcde",
        ok: false,
        sentence: "it\u001b[31m is away",
        advice: "start it",
      });
      const ill = asked();
      expect(await runCommandLine(["doctor"], ill)).toBe(1);
      expect(ill.out()).toMatch(/WRONG cluster: replica abcde: it\S+ is away\n {6}start it\n/);
      expect(ill.out()).not.toContain("\u001b");
      const json = asked();
      expect(await runCommandLine(["doctor", "--json"], json)).toBe(1);
      expect((JSON.parse(json.out()) as { cluster: object[] }).cluster).toHaveLength(2);
    },
  );

  test("a signal ends doctor", async () => {
    write({ a: { command: "x" } });
    const examined: ProbeResult = {
      error: new Error("it was interrupted"),
      stderr: [],
      nonProtocolOutput: [],
    };
    const shell = fakeShell({
      cwd: folder,
      examine: (_, signal) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve(examined), { once: true })),
    });
    shell.signal("SIGINT");
    expect(await runCommandLine(["doctor"], shell)).toBe(1);
    expect(shell.out()).toBe("");
  });
});
