import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { type ServerConfig, usableServers } from "../../src/config/config.js";
import { formatProblem } from "../../src/config/problem.js";
import { type GoodConfig, type ReadOptions, readConfig } from "../../src/config/read.js";
import { REVISIONS } from "../../src/config/server-schema.js";
import { LEGACY_REVISIONS, MODERN_REVISION } from "../../src/wire/names.js";

function good(text: string, file = "/home/me/cardea.jsonc", options: ReadOptions = { env: {} }): GoodConfig {
  const outcome = readConfig(text, file, options);
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(formatProblem).join("\n"));
  return outcome;
}

const servers = (text: string, file?: string, options?: ReadOptions): readonly ServerConfig[] =>
  usableServers(good(text, file, options).config);

const EVERYTHING = { allow: ["*"], deny: [] };

describe("a config file", () => {
  test("that is empty gets every default", () => {
    expect(good("{}").config).toEqual({
      file: "/home/me/cardea.jsonc",
      digest: expect.any(String),
      files: ["/home/me/cardea.jsonc"],
      listen: {
        http: {
          host: "127.0.0.1",
          port: 8080,
          path: "/mcp",
          allowedHosts: [],
          allowedOrigins: [],
          maxBodyBytes: 4_194_304,
          keepAliveMs: 75_000,
          legacySse: false,
          insecure: false,
        },
      },
      servers: [],
      startupWaitMs: 10_000,
      naming: { separator: "__", maxLength: 50 },
      parkedCalls: { total: 2_000, perPrincipal: 500, perServer: 500, answerMs: 900_000 },
      profiles: {},
      features: {},
    });
  });

  test("comes out complete: durations in ms, folders absolute, defaults filled in", () => {
    const text = `{
      // comments and trailing commas are fine
      "mcpServers": {
        "files": { "command": "./bin/files", "args": ["."], "env": { "A": "1" }, "cwd": "work" },
        "sentry": {
          "type": "http", "url": "https://mcp.sentry.dev/mcp", "headers": { "Authorization": "Bearer \${TOKEN}" },
          "prefix": "s", "protocol": "2025-06-18", "lease": "session", "required": true,
          "timeout": "90s", "connectTimeout": "250ms",
          "roots": ["~/work", "a b", "file:///srv/x", { "uri": "../up", "name": "Up" }], "tools": { "allow": ["a*"], "deny": ["ab"] },
        },
      },
    }`;
    expect(servers(text, undefined, { env: { TOKEN: "t0k3n" } })).toEqual([
      {
        name: "files",
        transport: {
          kind: "stdio",
          command: "/home/me/work/bin/files",
          args: ["."],
          env: { A: "1" },
          cwd: "/home/me/work",
        },
        prefix: "files",
        protocol: "auto",
        lease: "auto",
        start: "demand",
        idleTimeoutMs: 600_000,
        required: false,
        timeoutMs: 300_000,
        connectTimeoutMs: 30_000,
        tools: EVERYTHING,
        prompts: EVERYTHING,
        resources: EVERYTHING,
        features: {},
      },
      {
        name: "sentry",
        transport: {
          kind: "http",
          url: "https://mcp.sentry.dev/mcp",
          headers: { Authorization: "Bearer t0k3n" },
          sse: false,
        },
        prefix: "s",
        protocol: "2025-06-18",
        lease: "session",
        start: "eager",
        idleTimeoutMs: 600_000,
        required: true,
        timeoutMs: 90_000,
        connectTimeoutMs: 250,
        roots: [
          { uri: pathToFileURL(join(homedir(), "work")).href },
          { uri: "file:///home/me/a%20b" },
          { uri: "file:///srv/x" },
          { uri: "file:///home/up", name: "Up" },
        ],
        tools: { allow: ["a*"], deny: ["ab"] },
        prompts: EVERYTHING,
        resources: EVERYTHING,
        features: {},
      },
    ]);
  });

  test("is the same in YAML, with anchors and merge keys", () => {
    const yaml = `
listen: { http: { port: 9000 } }
mcpServers:
  one: &base
    command: node
    timeout: 30s
  two:
    <<: *base
    command: deno
`;
    const json = `{ "listen": { "http": { "port": 9000 } }, "mcpServers": {
      "one": { "command": "node", "timeout": "30s" }, "two": { "command": "deno", "timeout": "30s" } } }`;
    expect(good(yaml, "/x/cardea.yaml").config).toEqual({
      ...good(json, "/x/c.json").config,
      file: "/x/cardea.yaml",
      files: ["/x/cardea.yaml"],
      digest: expect.any(String),
    });
  });

  test("without an extension is detected by its content", () => {
    expect(servers('// comment\n{ "mcpServers": { "a": { "command": "x" } } }', "/etc/cardea")).toHaveLength(
      1,
    );
    expect(servers("mcpServers:\n  a: { command: x }\n", "/etc/cardea")).toHaveLength(1);
  });

  test("may begin with a byte order mark", () => {
    expect(servers('\uFEFF{ "mcpServers": { "a": { "command": "x" } } }')).toHaveLength(1);
  });

  test("keeps servers in file order, under any key and any name", () => {
    const text = `{ "servers": { "zoo": { "command": "x" }, "10": { "command": "x" } },
      "mcpServers": { "2": { "command": "x" }, "__proto__": { "command": "x" } },
      "context_servers": { "constructor": { "command": "x" } } }`;
    expect(servers(text).map(({ name }) => name)).toEqual(["zoo", "10", "2", "__proto__", "constructor"]);
    expect(({} as { command?: string }).command).toBeUndefined();
  });

  test("leaves disabled servers out", () => {
    const text = `{ "mcpServers": { "a": { "command": "x", "disabled": true }, "b": { "command": "x", "enabled": false },
      "c": { "command": "x" } } }`;
    expect(servers(text).map(({ name }) => name)).toEqual(["c"]);
  });

  test.each([
    ["stdio", { command: "x" }, "stdio"],
    ["http", { url: "https://x.example" }, "http"],
    ["streamable-http", { url: "https://x.example" }, "http"],
    ["streamableHttp", { serverUrl: "https://x.example" }, "http"],
    ["streamablehttp", { httpUrl: "https://x.example" }, "http"],
    ["sse", { url: "https://x.example" }, "sse"],
  ])("knows the type %s", (type, server, kind) => {
    const [found] = servers(JSON.stringify({ mcpServers: { a: { type, ...server } } }));
    expect(found?.transport).toMatchObject(
      kind === "stdio"
        ? { kind: "stdio", command: "x" }
        : { kind: "http", url: "https://x.example/", sse: kind === "sse" },
    );
  });

  test("takes the filters of other hosts", () => {
    const text = `{ "mcpServers": { "a": { "command": "x", "tools": ["read_*"], "disabledTools": ["read_all"] } } }`;
    expect(servers(text)[0]?.tools).toEqual({ allow: ["read_*"], deny: ["read_all"] });
  });

  test("takes a port from a variable", () => {
    const text = `{ "listen": { "http": { "port": "\${P:-9001}" } } }`;
    const { listen } = good(text).config;
    expect(listen.http.port).toBe(9001);
  });

  test.each([
    [{ path: "/" }, "must be a path"],
    [{ path: "/mcp/" }, "must be a path"],
    [{ path: "/a//b" }, "must be a path"],
    [{ path: "/a/../b" }, "must be a path"],
    [{ path: "/readyz" }, "is a reserved path of the listener"],
    [{ path: "/.well-known/mcp" }, "is a reserved path of the listener"],
    [{ path: "/messages", legacySse: true }, "is a path of the HTTP+SSE transport"],
    [{ path: "/messages" }, undefined],
    [{ path: "/tools/v1.2/mcp" }, undefined],
    [{ path: "/healthz-of-mcp" }, undefined],
  ])("serves MCP where every client can reach it: %j", (http, complaint) => {
    const outcome = readConfig(JSON.stringify({ listen: { http } }), "/home/me/cardea.jsonc", { env: {} });
    const messages = outcome.problems.map(({ message }) => message);
    expect(messages).toEqual(
      complaint === undefined ? [] : [expect.stringContaining(`listen.http.path ${complaint}`)],
    );
  });

  test("limits how many calls may be parked, and how long", () => {
    const parkedCalls = { total: 0, perPrincipal: 7, perServer: 8, answerTimeout: "90s" };
    expect(good(JSON.stringify({ parkedCalls })).config.parkedCalls).toEqual({
      total: 0,
      perPrincipal: 7,
      perServer: 8,
      answerMs: 90_000,
    });
  });

  test.each([
    ["1s", 1_000],
    ["75s", 75_000],
    ["350000ms", 350_000],
    ["11m", 660_000],
    ["1h", 3_600_000],
  ])("keeps idle connections for %s", (keepAliveTimeout, ms) => {
    const { config } = good(JSON.stringify({ listen: { http: { keepAliveTimeout } } }));
    expect(config.listen.http.keepAliveMs).toBe(ms);
  });

  test.each(["0s", "999ms", "2h", "75", "1 m", "-1s"])(
    "keeps idle connections for no %j",
    (keepAliveTimeout) => {
      const text = JSON.stringify({ listen: { http: { keepAliveTimeout } } });
      const outcome = readConfig(text, "/home/me/cardea.jsonc", { env: {} });
      expect(outcome.problems.map(({ message }) => message)).toEqual([
        expect.stringContaining("listen.http.keepAliveTimeout must be"),
      ]);
    },
  );

  test("knows no roots but folders and their URIs", () => {
    const text = JSON.stringify({ mcpServers: { a: { command: "x", roots: ["https://x.example/"] } } });
    const outcome = readConfig(text, "/home/me/cardea.jsonc", { env: {} });
    expect(outcome.problems.map(({ message }) => message)).toEqual([
      'server "a" has "roots" that are neither folders nor file: URIs',
    ]);
  });

  test("gives way to flags", () => {
    const overrides = { host: "::1", port: 1 };
    const { listen } = good(`{ "listen": { "http": { "port": 3 } } }`, undefined, { overrides }).config;
    expect([listen.http.host, listen.http.port]).toEqual(["::1", 1]);
  });

  test("has profiles, which may name disabled servers and show every server by default", () => {
    const text = `{ "mcpServers": { "a": { "command": "x" }, "b": { "command": "x" }, "off": { "command": "x", "disabled": true } },
      "profiles": { "ro": { "servers": ["a", "off"], "tools": { "deny": ["a__write_*"] } }, "all": {} } }`;
    expect(good(text).config.profiles).toEqual({
      ro: {
        servers: ["a"],
        tools: { allow: ["*"], deny: ["a__write_*"] },
        prompts: EVERYTHING,
        resources: EVERYTHING,
        features: {},
      },
      all: {
        servers: ["a", "b"],
        tools: EVERYTHING,
        prompts: EVERYTHING,
        resources: EVERYTHING,
        features: {},
      },
    });
  });

  test("reads an envFile, which the server's own env overrides", () => {
    const read: string[] = [];
    const readFile = (path: string): string => {
      read.push(path);
      return "A=from file\nexport B=\"two\\nlines\" # comment\n# C=no\nD='$E'\n";
    };
    const text = `{ "mcpServers": { "a": { "command": "x", "envFile": ".env", "env": { "A": "own" } } } }`;
    const [server] = servers(text, undefined, { env: {}, readFile });
    expect(server?.transport).toMatchObject({ env: { A: "own", B: "two\nlines", D: "$E" } });
    expect(read).toEqual(["/home/me/.env"]);
  });
});

describe("variables", () => {
  const argument = (text: string, options: ReadOptions): unknown => {
    const [server] = servers(
      JSON.stringify({ mcpServers: { a: { command: "x", args: [text] } } }),
      undefined,
      options,
    );
    return server?.transport.kind === "stdio" ? server.transport.args[0] : undefined;
  };
  const env = { NAME: "value", EMPTY: "", NESTED: "${NAME}", TAIL: "$" };

  test.each([
    ["${NAME}", "value"],
    ["a${NAME}b${NAME}c", "avaluebvaluec"],
    ["${env:NAME}", "value"],
    ["${EMPTY}", ""],
    ["${EMPTY:-default}", "default"],
    ["${MISSING:-default}", "default"],
    ["${MISSING:-}", ""],
    ["${MISSING:-a:-b}", "a:-b"],
    ["${env:MISSING:-default}", "default"],
    ["${NESTED}", "${NAME}"],
    ["${TAIL}{NAME}", "${NAME}"],
    ["$${NAME}", "${NAME}"],
    ["$NAME and {env:NAME} and $(NAME)", "$NAME and {env:NAME} and $(NAME)"],
    ["${file:secrets/token}", "from /home/me/secrets/token"],
    ["${file:/run/secrets/x}", "from /run/secrets/x"],
  ])("%s is %s", (text, expected) => {
    expect(argument(text, { env, readFile: (path) => `from ${path}\n` })).toBe(expected);
  });

  test("are reported as secrets, so that they are redacted everywhere", () => {
    const text = `{ "mcpServers": { "a": { "command": "x", "args": ["\${NAME}", "plain"] } } }`;
    expect(good(text, undefined, { env }).secrets).toEqual(["value"]);
  });

  test("are allowed in values only, never in keys", () => {
    const text = `{ "mcpServers": { "a": { "command": "x", "env": { "\${NAME}": "1" } } } }`;
    expect(servers(text, undefined, { env })[0]?.transport).toMatchObject({ env: { "${NAME}": "1" } });
  });
});

describe("a host's own file", () => {
  const text = `{
    "mcpServers": {
      "a": { "command": "x", "alwaysAllow": ["t"], "timeout": 60, "args": ["\${workspaceFolder}/data"] },
      "b": { "transportType": "sse", "url": "https://x.example", "headersHelper": "./secret.sh", "cwd": null },
      "c": { "type": "local", "command": { "path": "y", "args": ["z"] }, "source": "custom" },
      "d": { "source": "extension", "settings": {} }
    },
    "globalShortcut": "F1"
  }`;

  test("is read for its servers, with a warning for each key that only the host knows", () => {
    const { config, warnings } = good(text, "/work/.cursor/mcp.json");
    expect(config.servers.map(({ name, transport }) => ({ name, transport }))).toMatchObject([
      { name: "a", transport: { command: "x", args: ["/work/data"] } },
      { name: "b", transport: { kind: "http", sse: true } },
      { name: "c", transport: { command: "y", args: ["z"] } },
    ]);
    expect(warnings.map(formatProblem)).toEqual([
      '/work/.cursor/mcp.json:3:30: server "a": "alwaysAllow" is the host\'s own and is ignored',
      '/work/.cursor/mcp.json:3:52: server "a": "timeout" is the host\'s own and is ignored',
      '/work/.cursor/mcp.json:4:66: server "b": "headersHelper" is not run here; put the header under headers, with a variable',
      '/work/.cursor/mcp.json:6:7: server "d" is an extension of the host, which only the host can start; it is omitted',
      "/work/.cursor/mcp.json:8:5: ignored, as the host's own: globalShortcut",
    ]);
  });

  test("is Cardea's own format as soon as it has a key that only Cardea knows", () => {
    const outcome = readConfig(
      `{ "mcpServers": { "a": { "command": "x", "alwaysAllow": [] } }, "naming": {} }`,
      "/p/.mcp.json",
    );
    expect(outcome).toMatchObject({ problems: [{ line: 1, column: 42 }] });
  });
});

test("the revisions that can be pinned are those the wire knows", () => {
  expect(REVISIONS).toEqual([MODERN_REVISION, ...LEGACY_REVISIONS]);
});
