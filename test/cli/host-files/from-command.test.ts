import { describe, expect, test } from "vitest";
import { configOfCommand, configOfUrl } from "../../../src/cli/host-files/from-command.js";

const options = { cwd: "/work" };

describe("a command line", () => {
  test("is one server with unprefixed names, started in the working directory", () => {
    const config = configOfCommand("node", ["server.js", "${HOME}", "--flag"], {
      ...options,
      overrides: { port: 0 },
    });
    expect(config.servers).toMatchObject([
      {
        name: "server",
        prefix: "",
        transport: {
          kind: "stdio",
          command: "node",
          args: ["server.js", "${HOME}", "--flag"],
          env: {},
          cwd: "/work",
        },
      },
    ]);
    expect(config.listen.http.port).toBe(0);
    expect(config).not.toHaveProperty("file");
  });

  test.each([
    [["npx", "-y", "@modelcontextprotocol/server-everything@1.2.3"], "server-everything"],
    [["uvx", "mcp-server-git"], "mcp-server-git"],
    [["node", "/x/node_modules/server-files/dist/index.js", "stdio"], "server-files"],
    [["/opt/bin/thing.exe"], "thing"],
    [["./server.py"], "server"],
    [["node", "./dist/index.js"], "server"],
  ])("%j is called %s", ([command = "", ...args], name) => {
    expect(configOfCommand(command, args, options).servers[0]?.name).toBe(name);
  });
});

describe("an address", () => {
  test("is one server with the headers that were given", () => {
    const { servers } = configOfUrl("https://mcp.example/mcp", { "X-Key": "${K}" }, options);
    expect(servers).toMatchObject([
      {
        name: "mcp.example",
        prefix: "",
        transport: { kind: "http", url: "https://mcp.example/mcp", headers: { "X-Key": "${K}" } },
      },
    ]);
  });

  test.each([
    ["nonsense", {}, 'the server has a "url" that is not an absolute URL'],
    ["ftp://x.example", {}, 'the server has a "url" that is neither http: nor https:'],
    ["https://x.example", { "bad name": "x" }, "the server's headers: it is not a header name"],
    ["https://x.example", { X: "a\nb" }, "the server's headers: it cannot hold a line break"],
  ])("%s with %j is refused", (url, headers, message) => {
    expect(() => configOfUrl(url, headers, options)).toThrow(new RangeError(message));
  });
});
