import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import type { Reply } from "../../src/core/call.js";
import { GatewayError } from "../../src/core/errors.js";
import type { Gateway } from "../../src/gateway/gateway.js";
import { UnknownEndpoint } from "../../src/gateway/views/cli-calls.js";
import type { JsonObject } from "../../src/wire/json.js";
import { Payload } from "../../src/wire/payload.js";
import { hasFeature, testOf } from "../support/features.js";
import { fakeShell } from "./fake-shell.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-list-"));
  writeFileSync(join(folder, "cardea.json"), '{ "mcpServers": { "a": { "command": "x" } } }');
});
afterAll(() => rmSync(folder, { recursive: true }));

const shellWith = (gateway: Partial<Gateway>, env = {}) => fakeShell({ cwd: folder, env, gateway });

test.each(["localhost:8081", "http://127.0.0.1:8081)", "http://[::1:8081", "ftp://127.0.0.1"])(
  "the URL %j is no address of a gateway, and the command says what one is",
  async (url) => {
    const shell = shellWith({});
    expect(await runCommandLine(["list", "--url", url], shell)).toBe(2);
    expect(shell.said.join()).toContain("such as http://127.0.0.1:8081");
  },
);

test("list starts every server, and call those that it needs", async () => {
  const startsOf = async (...argv: readonly string[]) => {
    const shell = shellWith({
      lists: async () => [],
      call: async () => ({ kind: "result", result: Payload.ofObject({ content: [] }) }),
    });
    await runCommandLine(argv, shell);
    return shell.configs.map(({ servers }) => servers.map(({ start }) => start));
  };
  expect(await startsOf("list")).toEqual([["eager"]]);
  expect(await startsOf("call", "a__b")).toEqual([["demand"]]);
});

describe("list", () => {
  const lists: Gateway["lists"] = async (kind) => {
    switch (kind) {
      case "tools":
        return [
          {
            server: "files",
            item: { name: "files__read", description: "Reads a file.\nMore.", inputSchema: {} },
          },
          { server: "x", item: { name: "x__\u001b[31mred", description: "\u202Eevil" } },
        ];
      case "prompts":
        return [];
      case "resources":
        return [{ server: "files", item: { uri: "files+a:b", name: "b" } }];
      case "resourceTemplates":
        return [{ server: "files", item: { uriTemplate: "files+a:{b}", name: "b", title: "All" } }];
    }
  };

  test("prints what a host will see and from which server, without terminal escapes", async () => {
    const shell = shellWith({ lists });
    expect(await runCommandLine(["list"], shell)).toBe(0);
    expect(shell.out()).toBe(`tools (2)
  files__read       [files]  Reads a file.
  x__\\u001b[31mred  [x]  \\u202eevil

prompts (0)

resources (1)
  files+a:b  [files]

templates (1)
  files+a:{b}  [files]  All
`);
    expect(shell.events).toEqual(["stop at once"]);
  });

  test.each([
    [
      ["--as", "ci"],
      {},
      { as: "ci", scopes: [] },
      ["warn: no key in auth.keys is that of ci; did you mean cli?"],
    ],
    [["--as", "cli", "--groups", "a"], {}, { as: "cli", groups: ["a"], scopes: [] }, []],
    [[], { CARDEA_AS: "cli" }, { as: "cli", scopes: [] }, []],
    [[], {}, undefined, []],
    ...(hasFeature("tool-search")
      ? [[["--at", "ide", "--all"], {}, undefined, [], { at: "ide", all: true }]]
      : []),
    [[], { CARDEA_AT: "ide", CARDEA_ALL: "1" }, undefined, [], { at: "ide", all: true }],
  ] as [string[], Record<string, string>, unknown, string[], object?][])(
    "%j %j requests the lists of that principal, and warns of an unknown principal",
    async (flags, env, as, warnings, query = {}) => {
      const file = join(folder, "keys.json");
      const keys = [{ id: "cli", hash: `sha256:${"0".repeat(64)}` }];
      writeFileSync(file, JSON.stringify({ auth: { keys }, mcpServers: { a: { command: "x" } } }));
      const asked: unknown[] = [];
      const remember: Gateway["lists"] = async (...given) => {
        asked.push(given.slice(0, 2));
        return [];
      };
      const shell = shellWith({ lists: remember }, env);
      expect(await runCommandLine(["list", "tools", "--config", file, ...flags], shell)).toBe(0);
      expect(asked).toEqual([["tools", { as, ...query }]]);
      expect(shell.said.filter((line) => line.startsWith("warn"))).toEqual(warnings);
    },
  );

  testOf("tool-search")("shows the tools that hosts list, and says how many they find", async () => {
    const tool = (server: string, name: string) => ({
      server,
      item: { name, inputSchema: { type: "object" } },
    });
    const own = [tool("", "find_tools"), tool("", "call_tool")];
    const all = [tool("files", "files__a"), tool("files", "files__b"), tool("git", "git__c")];
    const shell = shellWith({ lists: async (_, query = {}) => (query.all === true ? all : own) });
    expect(await runCommandLine(["list", "tools"], shell)).toBe(0);
    expect(shell.out()).toBe("tools (2)\n  find_tools  [cardea]\n  call_tool   [cardea]\n");
    expect(shell.said).toContain("info: hosts find 3 tools with find_tools; --all lists them");
    const json = shellWith({ lists: async () => own });
    await runCommandLine(["list", "tools", "--json"], json);
    expect(JSON.parse(json.out())[0]).toMatchObject({ name: "find_tools", server: "cardea" });
  });

  test("marks tools whose calls are not all allowed", async () => {
    const lists = async () => [
      {
        server: "a",
        item: { name: "a__x", description: "About x" },
        calls: { effect: "deny", rule: "no" } as const,
      },
      { server: "a", item: { name: "a__y" }, calls: { effect: "approve" } as const },
      { server: "a", item: { name: "a__z" } },
    ];
    const shell = shellWith({ lists, missing: async () => [] });
    expect(await runCommandLine(["list", "tools", "--as", "ann"], shell)).toBe(0);
    expect(shell.out()).toMatch(/a__x +\[a\] {2}\(refused\) {2}About x\n/);
    expect(shell.out()).toMatch(/a__y +\[a\] {2}\(needs approval\)\n/);
    const other = shellWith({ lists, missing: async () => [] });
    await runCommandLine(["list", "tools", "--as", "ann", "--json"], other);
    const [x, , z] = JSON.parse(other.out()) as readonly object[];
    expect(x).toMatchObject({ name: "a__x", server: "a", calls: { effect: "deny", rule: "no" } });
    expect(z).not.toHaveProperty("calls");
  });

  test("says that there is no such URL", async () => {
    const lists: Gateway["lists"] = () =>
      Promise.reject(new UnknownEndpoint('there is no server or profile "x"'));
    const shell = shellWith({ lists });
    expect(await runCommandLine(["list", "--at", "x"], shell)).toBe(2);
    expect(shell.said.join("\n")).toContain(`there is no server or profile "x"`);
  });

  test("prints one list as an array of whole entries", async () => {
    const shell = shellWith({ lists });
    expect(await runCommandLine(["list", "resources", "--json"], shell)).toBe(0);
    expect(JSON.parse(shell.out())).toEqual([{ uri: "files+a:b", name: "b", server: "files" }]);
  });

  test("prints all lists as one object", async () => {
    const shell = shellWith({ lists }, { CARDEA_JSON: "1" });
    expect(await runCommandLine(["list"], shell)).toBe(0);
    const printed = JSON.parse(shell.out()) as Record<string, unknown[]>;
    expect(Object.entries(printed).map(([key, list]) => [key, list.length])).toEqual([
      ["tools", 2],
      ["prompts", 0],
      ["resources", 1],
      ["templates", 1],
    ]);
  });

  test("warns of names that hosts truncate", async () => {
    const name = "n".repeat(52);
    const shell = shellWith({ lists: async () => [{ server: "a", item: { name } }] });
    expect(await runCommandLine(["list", "tools"], shell)).toBe(0);
    expect(shell.said.at(-1)).toBe(
      "warn: 1 tool name is over 51 characters; hosts that put mcp__cardea__ before them stop at 64",
    );
  });

  test("exits with 1 and names the missing servers", async () => {
    const missing = async () => [
      { server: "slow", ok: false, tools: 0, error: "slow did not answer within 30 s" },
      { server: "git", ok: false, tools: 0 },
    ];
    const shell = shellWith({ lists, missing });
    expect(await runCommandLine(["list", "tools"], shell)).toBe(1);
    expect(shell.out()).toContain("files__read");
    expect(shell.said.at(-1)).toBe(
      "warn: 2 servers are missing: slow (slow did not answer within 30 s); git; cardea doctor says what to do",
    );
  });

  test("prints progress for each server that has listed", async () => {
    const shell = shellWith({
      lists: async (_kind, _as, onServer) => {
        onServer?.({ server: "files", ok: true, tools: 1 });
        onServer?.({ server: "slow", ok: false, tools: 0, error: "it is away" });
        return [];
      },
    });
    expect(await runCommandLine(["list", "tools"], shell)).toBe(0);
    expect(shell.said.at(-1)).toBe("info: files: 1 tool");
  });

  test("exits with 69 when a required server is unavailable", async () => {
    const error = new GatewayError("upstream_unavailable", "upstream", "a is not there", { server: "a" });
    const shell = shellWith({ lists: () => Promise.reject(error) });
    expect(await runCommandLine(["list"], shell)).toBe(69);
    expect(shell.said.at(-1)).toBe("error: a is not there");
  });
});

describe("the arguments of a call", () => {
  test.each([
    [[], {}],
    [['{"a": {"b": 9007199254740993}}'], { a: { b: expect.anything() } }],
    [["path=README.md", "head:=10"], { path: "README.md", head: 10 }],
    [["url=https://x.example/?a=b&c:=d"], { url: "https://x.example/?a=b&c:=d" }],
    [
      ["a=", 'b:={"c": [1]}', "d:=null", 'e:="1"', "f=1", "g={"],
      { a: "", b: { c: [1] }, d: null, e: "1", f: "1", g: "{" },
    ],
    [["__proto__=x"], JSON.parse('{"__proto__":"x"}')],
    [["a b=c"], { "a b": "c" }],
  ] as [string[], unknown][])("%j are %j", async (words, args) => {
    const asked: unknown[] = [];
    const shell = shellWith({
      explain: async ({ args: given }) => {
        asked.push(given);
        return { unknown: "" };
      },
    });
    await runCommandLine(["explain", "t", ...words], shell);
    expect(asked).toEqual([args]);
  });
});

describe("call", () => {
  const answering =
    (reply: Reply): Gateway["call"] =>
    async () =>
      reply;
  const result = (object: JsonObject): Reply => ({ kind: "result", result: Payload.ofObject(object) });

  test("sends the arguments and prints the text of the result", async () => {
    const calls: unknown[] = [];
    const call: Gateway["call"] = async (...given) => {
      calls.push(given.slice(0, 2));
      return result({
        content: [
          { type: "text", text: "one\ntwo\u001b[2J" },
          { type: "image", mimeType: "image/png", data: "AAAA" },
          { type: "resource_link", uri: "a:b" },
          { type: "resource", resource: { uri: "a:c", text: "inside" } },
        ],
      });
    };
    const shell = shellWith({ call });
    expect(await runCommandLine(["call", "files__read", '{"path": "x"}'], shell)).toBe(0);
    expect(calls).toEqual([["files__read", { path: "x" }]]);
    expect(shell.out()).toBe(
      "one\ntwo\\u001b[2J\n[image, image/png, 3 bytes]\n[resource_link, a:b]\ninside\n",
    );
  });

  test("prints the whole result as JSON", async () => {
    const object = { content: [], structuredContent: { n: 1 }, _meta: { x: 1 } };
    const shell = shellWith({ call: answering(result(object)) });
    expect(await runCommandLine(["call", "t", "--json"], shell)).toBe(0);
    expect(JSON.parse(shell.out())).toEqual(object);
  });

  test("prints structured content where there is no other content", async () => {
    const shell = shellWith({ call: answering(result({ content: [], structuredContent: { n: 1 } })) });
    expect(await runCommandLine(["call", "t"], shell)).toBe(0);
    expect(JSON.parse(shell.out())).toEqual({ n: 1 });
  });

  test.each([
    [
      "an error of the tool",
      result({ isError: true, content: [{ type: "text", text: "no such file" }] }),
      "no such file\n",
      undefined,
    ],
    [
      "an error",
      { kind: "error", error: { code: -32602, message: "unknown tool: t" } },
      "",
      "error: unknown tool: t",
    ],
    [
      "a question",
      { kind: "input_required", requests: {} },
      "",
      "error: the server asks a question, and there is no person to answer it",
    ],
  ] as const)("exits with 1 at %s", async (_, reply, out, said) => {
    const shell = shellWith({ call: answering(reply) });
    expect(await runCommandLine(["call", "t"], shell)).toBe(1);
    expect(shell.out()).toBe(out);
    if (said !== undefined) expect(shell.said.at(-1)).toBe(said);
  });

  test("names the missing servers when the tool is unknown", async () => {
    const error = { code: -32602, message: "unknown tool: t" };
    const missing = async () => [{ server: "git", ok: false, tools: 0, error: "git is away" }];
    const shell = shellWith({ call: answering({ kind: "error", error }), missing });
    expect(await runCommandLine(["call", "t"], shell)).toBe(1);
    expect(shell.said.at(-1)).toBe(
      "warn: 1 server is missing: git (git is away); cardea doctor says what to do",
    );
  });

  test("waits for no other server where the tool's own answered with an error", async () => {
    const missing = (): Promise<never> => Promise.reject(new Error("asked for the missing servers"));
    const error = { code: -32603, message: "open /x: no such file" };
    const shell = shellWith({ call: answering({ kind: "error", error }), missing });
    expect(await runCommandLine(["call", "t"], shell)).toBe(1);
    expect(shell.said.at(-1)).toBe("error: open /x: no such file");
  });

  test("prints an error as JSON with --json", async () => {
    const shell = shellWith({
      call: answering({ kind: "error", error: { code: 5, message: "m", data: {} } }),
    });
    expect(await runCommandLine(["call", "t", "--json"], shell)).toBe(1);
    expect(JSON.parse(shell.out())).toEqual({ error: { code: 5, message: "m", data: {} } });
  });
});
