import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectProxy, proxyEnvironment } from "../support/connect-proxy.js";
import { atHome } from "./at-home.js";

const CONFIG = `{
  // what I use
  "mcpServers": {
    "files": { "command": "files" }, // mine
  },
}
`;
const ENTRY = {
  name: "io.github.me/weather",
  version: "1.0.0",
  packages: [
    {
      registryType: "npm",
      identifier: "@me/weather",
      version: "1.0.2",
      transport: { type: "stdio" },
      environmentVariables: [
        { name: "WEATHER_KEY", description: "Your key", isRequired: true, isSecret: true },
        { name: "UNITS", default: "metric" },
      ],
    },
  ],
};

describe("add", () => {
  test("appends a stdio server and keeps the comments", async () => {
    const { run, write, read } = atHome();
    write("work/cardea.jsonc", CONFIG);
    const { code, out } = await run("add", "db", "--env", "URL=a=b", "--", "npx", "-y", "db", "--port", "1");
    expect([code, out]).toEqual([0, "added db to cardea.jsonc\n"]);
    expect(read("work/cardea.jsonc")).toBe(
      CONFIG.replace(
        "// mine\n",
        '// mine\n    "db": { "command": "npx", "args": ["-y", "db", "--port", "1"], "env": { "URL": "a=b" } },\n',
      ),
    );
  });

  test.each([
    [["db", "npx", "-y", "db", "--port", "1"], { command: "npx", args: ["-y", "db", "--port", "1"] }],
    [
      ["db", "--env", "A=b", "npx", "--yes", "db"],
      { command: "npx", args: ["--yes", "db"], env: { A: "b" } },
    ],
    [["--env", "A=b", "db", "./run.sh", "x"], { command: "./run.sh", args: ["x"], env: { A: "b" } }],
    [["db", "uvx", "db", "--", "x"], undefined],
  ])("takes a command without -- too: %j", async (words, server) => {
    const { run, write, read } = atHome();
    write("work/cardea.json", { mcpServers: {} });
    const { code } = await run("add", ...words);
    expect(code).toBe(server === undefined ? 2 : 0);
    const { mcpServers } = JSON.parse(read("work/cardea.json")) as { mcpServers: object };
    expect(mcpServers).toEqual(server === undefined ? {} : { db: server });
  });

  test("a URL with flags behind it is no command", async () => {
    const { run, write, read } = atHome();
    write("work/cardea.json", { mcpServers: {} });
    expect((await run("add", "web", "https://web.example/mcp", "--header", "X-Team: a")).code).toBe(0);
    expect(JSON.parse(read("work/cardea.json"))).toEqual({
      mcpServers: { web: { type: "http", url: "https://web.example/mcp", headers: { "X-Team": "a" } } },
    });
  });

  test("adds a URL with its headers to YAML and keeps the comments", async () => {
    const { run, write, read } = atHome({ TOKEN: "x" });
    write("work/cardea.yaml", "# mine\nservers:\n  files: # why\n    command: files\n");
    const { code } = await run(
      "add",
      "web",
      "https://web.example/mcp",
      "--header",
      "Authorization: Bearer ${TOKEN}",
    );
    expect(code).toBe(0);
    expect(read("work/cardea.yaml")).toBe(
      `# mine\nservers:\n  files: # why\n    command: files\n  web:\n    type: http\n    url: https://web.example/mcp\n    headers:\n      Authorization: Bearer \${TOKEN}\n`,
    );
  });

  test("creates the config file where there is none", async () => {
    const { run, read } = atHome();
    const { out } = await run("add", "db", "--", "db");
    expect(out).toBe("added db to cardea.jsonc, which is new\n");
    expect(JSON.parse(read("work/cardea.jsonc"))).toEqual({ mcpServers: { db: { command: "db" } } });
  });

  test("in a config of another folder writes cwd, so that relative paths keep their meaning", async () => {
    const { run, read } = atHome();
    await run("add", "db", "--config", "../home/c.json", "--", "./db");
    const { mcpServers } = JSON.parse(read("home/c.json"));
    expect(mcpServers.db).toEqual({ command: "./db", cwd: expect.stringMatching(/\/work$/) });
  });

  test("warns of a variable that is not set, and adds the server", async () => {
    const { run, write } = atHome();
    write("work/cardea.jsonc", CONFIG);
    const { code, said } = await run("add", "db", "--env", "KEY=${NOT_SET}", "--", "db");
    expect(code).toBe(0);
    expect(said.join()).toMatch(/cardea\.jsonc:5:\d+: server "db": env\.KEY needs the variable NOT_SET/);
  });

  test.each([
    ["a name that is taken", ["add", "files", "--", "x"], 1, 'has a server "files" already'],
    [
      "a config that would be wrong",
      ["add", "FILES", "--", "x"],
      78,
      "was not changed, because it would be invalid",
    ],
    ["a name and nothing else", ["add", "x"], 2, "say what to add"],
    ["nothing", ["add"], 2, "say what to add"],
    ["a URL without a name", ["add", "https://x.example/mcp"], 2, "cardea add NAME https://x.example/mcp"],
    ["a command without --", ["add", "x", "ls"], 2, "cardea add x -- ls"],
    ["a command without a name", ["add", "--", "ls", "-l"], 2, "cardea add NAME -- ls -l"],
    ["a header for a command", ["add", "x", "--header", "A: b", "--", "ls"], 2, "--env K=V"],
    ["a variable for a URL", ["add", "x", "https://x.example", "--env", "A=b"], 2, "--header"],
    ["a header without a colon", ["add", "x", "https://x.example", "--header", "s3cr3t"], 2, "'Name: value'"],
  ])("%s is refused and the config stays unchanged", async (_, argv, code, message) => {
    const { run, write, read } = atHome();
    write("work/cardea.jsonc", CONFIG);
    const done = await run(...argv);
    expect(done.code).toBe(code);
    expect(done.said.join("\n")).toContain(message);
    expect(done.said.join("\n")).not.toContain("s3cr3t");
    expect(read("work/cardea.jsonc")).toBe(CONFIG);
  });

  test("an invalid config is refused with line and column", async () => {
    const { run, write } = atHome();
    write("work/cardea.jsonc", '{ "mcpServers": ');
    const { code, said } = await run("add", "x", "--", "y");
    expect(code).toBe(78);
    expect(said[0]).toMatch(/^error: cardea\.jsonc:1:\d+: /);
  });

  describe("from a server.json", () => {
    test("names the missing variables and writes nothing", async () => {
      const { run, write, has } = atHome();
      write("work/server.json", ENTRY);
      const { code, said } = await run("add", "server.json");
      expect([code, has("work/cardea.jsonc")]).toEqual([2, false]);
      expect(said).toEqual([
        "error: WEATHER_KEY (Your key) is asked for: give --env WEATHER_KEY=VALUE, or set it in the environment and give --yes",
      ]);
    });

    test.each([
      ["from the flag", ["--env", "WEATHER_KEY=abc", "--plain"], {}, "abc"],
      ["from the environment, by reference", ["--yes"], { WEATHER_KEY: "secret" }, "${WEATHER_KEY}"],
    ])("takes variables %s", async (_, flags, env, value) => {
      const { run, write, read } = atHome(env);
      write("work/server.json", ENTRY);
      expect((await run("add", "server.json", ...flags)).code).toBe(0);
      expect(JSON.parse(read("work/cardea.jsonc")).mcpServers).toEqual({
        weather: {
          command: "npx",
          args: ["-y", "@me/weather@1.0.2"],
          env: { WEATHER_KEY: value, UNITS: "metric" },
        },
      });
    });

    test("reads it from a URL, or by name from the registry of the config", async () => {
      const asked: string[] = [];
      const server = createServer(({ url }, answer) => {
        asked.push(url ?? "");
        if (url?.includes("nothing") === true) answer.writeHead(404).end();
        else answer.end(JSON.stringify({ server: ENTRY, _meta: {} }));
      });
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      try {
        const { run, write, read } = atHome({ WEATHER_KEY: "x" });
        write("work/cardea.jsonc", `{ "registry": "${base}/", "mcpServers": {} }`);
        expect((await run("add", "one", `${base}/a/server.json`, "--yes")).code).toBe(0);
        expect((await run("add", "io.github.me/weather", "--yes")).code).toBe(0);
        expect((await run("add", "two", "io.github.me/weather@1.0.0", "--yes")).code).toBe(0);
        const missing = await run("add", "io.github.me/nothing");
        expect([missing.code, missing.said[0]]).toEqual([
          1,
          expect.stringContaining("nothing/versions/latest is not there"),
        ]);
        expect(Object.keys(JSON.parse(read("work/cardea.jsonc")).mcpServers)).toEqual([
          "one",
          "weather",
          "two",
        ]);
        expect(asked).toEqual([
          "/a/server.json",
          "/v0.1/servers/io.github.me%2Fweather/versions/latest",
          "/v0.1/servers/io.github.me%2Fweather/versions/1.0.0",
          "/v0.1/servers/io.github.me%2Fnothing/versions/latest",
          "/v0/servers/io.github.me%2Fnothing/versions/latest",
        ]);
      } finally {
        await new Promise((done) => server.close(done));
      }
    });

    test("reads it through the proxy of the environment, and names that where it refuses", async () => {
      const server = createServer(
        (_, answer) => void answer.end(JSON.stringify({ server: ENTRY, _meta: {} })),
      );
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      onTestFinished(() => void server.close());
      const proxy = await connectProxy((authority) =>
        authority === "registry.corp.test:80" ? (server.address() as AddressInfo).port : { status: 403 },
      );
      proxyEnvironment({ HTTP_PROXY: proxy.url });
      const { run } = atHome({ WEATHER_KEY: "x" });
      expect((await run("add", "one", "http://registry.corp.test/server.json", "--yes")).code).toBe(0);
      const { code, said } = await run("add", "two", "http://elsewhere.corp.test/server.json", "--yes");
      expect([code, said.join()]).toEqual([
        1,
        expect.stringContaining(`the proxy ${proxy.url} (HTTP_PROXY) does not allow connections`),
      ]);
    });

    test("keeps a concurrent change of the config during the registry request", async () => {
      const place = atHome({ WEATHER_KEY: "x" });
      const theirs = `{ "auth": { "keys": [] }, "mcpServers": {} }`;
      const server = createServer((_, answer) => {
        place.write("work/cardea.jsonc", theirs);
        answer.end(JSON.stringify({ server: ENTRY, _meta: {} }));
      });
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      try {
        place.write("work/cardea.jsonc", CONFIG);
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/server.json`;
        const { code, out, said } = await place.run("add", "weather", url, "--yes");
        expect([code, out, said.at(-1)]).toEqual([
          1,
          "",
          "error: cardea.jsonc was not changed: another program changed it in the meantime; run the command again",
        ]);
        expect(place.read("work/cardea.jsonc")).toBe(theirs);
      } finally {
        await new Promise((done) => server.close(done));
      }
    });

    test("a name without a registry is refused with the key to set", async () => {
      const { code, said } = await atHome().run("add", "io.github.me/weather");
      expect([code, said[0]]).toEqual([
        1,
        expect.stringContaining('"registry": "https://registry.modelcontextprotocol.io"'),
      ]);
    });

    test("a document that is no server.json is refused", async () => {
      const { run, write } = atHome();
      write("work/server.json", { mcpServers: {} });
      const { code, said } = await run("add", "server.json");
      expect([code, said[0]]).toEqual([1, expect.stringContaining("server.json is no server.json")]);
    });
  });
});

describe("remove", () => {
  test("removes the server and the comment on its line, and nothing else", async () => {
    const { run, write, read } = atHome();
    write("work/cardea.jsonc", CONFIG);
    expect(await run("remove", "files")).toEqual({
      code: 0,
      out: "removed files from cardea.jsonc\n",
      waits: [],
      said: [],
      started: [],
    });
    expect(read("work/cardea.jsonc")).toBe(CONFIG.replace(/ {4}"files".*\n/, ""));
  });

  test.each([
    ["file", "did you mean files?"],
    ["other", "it has files"],
  ])("an unknown server %s is refused", async (name, hint) => {
    const { run, write } = atHome();
    write("work/cardea.jsonc", CONFIG);
    const { code, said } = await run("remove", name);
    expect([code, said]).toEqual([1, [`error: cardea.jsonc has no server "${name}"; ${hint}`]]);
  });

  test("a server that a profile names stays, and the error has line and column", async () => {
    const { run, write } = atHome();
    write("work/cardea.json", { mcpServers: { a: { command: "x" } }, profiles: { p: { servers: ["a"] } } });
    const { code, said } = await run("remove", "a");
    expect(code).toBe(78);
    expect(said[0]).toMatch(/^error: cardea\.json:\d+:\d+: .*profiles/);
  });

  test("without a config the command fails", async () => {
    expect((await atHome().run("remove", "a")).code).toBe(1);
  });
});
