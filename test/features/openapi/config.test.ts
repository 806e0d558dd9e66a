/** Servers that are HTTP APIs: what the config says of them. */
import { expect, test } from "vitest";
import { secretsOf } from "../../../src/cli/secrets-of.js";
import { formatProblem } from "../../../src/config/problem.js";
import { readConfig } from "../../../src/config/read.js";
import { SECTIONS } from "../../support/features.js";

const read = (server: object, readFile: (path: string) => string = () => "{}") =>
  readConfig(JSON.stringify({ mcpServers: { api: server } }, null, 1), "c.json", {
    env: {},
    cwd: "/etc/x",
    sections: SECTIONS,
    readFile,
  });

const problemsOf = (server: object, readFile?: (path: string) => string): readonly string[] => {
  const outcome = read(server, readFile);
  return outcome.problems.map((problem) => formatProblem(problem));
};

test("an API comes out complete: the file's path absolute, its content as a digest", () => {
  const outcome = read({
    type: "openapi",
    spec: "./api.json",
    baseUrl: "https://api.example.com/v1",
    include: { tags: ["pets"], paths: ["/pets*"], methods: ["get"] },
  });
  expect(outcome.ok && outcome.config.servers[0]).toMatchObject({
    protocol: "modern",
    lease: "shared",
    transport: {
      kind: "openapi",
      document: { file: "/etc/x/api.json", digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      baseUrl: "https://api.example.com/v1",
      headers: {},
      include: { tags: ["pets"], paths: ["/pets*"], methods: ["get"] },
    },
  });
});

test("a document that changed makes another config", () => {
  const server = { type: "openapi", spec: "api.json" };
  const [before, after] = ["{}", "[]"].map((text) => read(server, () => text));
  expect(before?.ok && after?.ok && before.config).not.toEqual(after?.ok && after.config);
});

test.each([
  [{}, 'needs the OpenAPI document: its "url", or "spec"'],
  [{ url: "https://x/o.json", spec: "o.json" }, 'has both "url" and "spec"'],
  [{ url: "o.json" }, 'has a "url" that is not an absolute URL'],
  [{ url: "https://x/o.json", baseUrl: "ftp://x" }, 'has a "baseUrl" that is neither http: nor https:'],
  [{ url: "https://x/o.json", command: "x" }, 'has "command"'],
  [{ url: "https://x/o.json", include: { methods: ["GET"] } }, "methods"],
  [{ url: "https://x/o.json", include: { tag: ["a"] } }, '"tag"'],
])("%j is refused, with its place", (server, sentence) => {
  expect(problemsOf({ type: "openapi", ...server })).toEqual([
    expect.stringMatching(/^c\.json:\d+:\d+: /) && expect.stringContaining(sentence),
  ]);
});

test("a file that cannot be read is refused, with its place", () => {
  const missing = (): string => {
    throw new Error("ENOENT");
  };
  expect(problemsOf({ type: "openapi", spec: "api.json" }, missing)).toEqual([
    'c.json:5:4: server "api" names a "spec" that cannot be read: it failed',
  ]);
});

test.each(["spec", "baseUrl", "include", "exclude"])("%s is for APIs only", (key) => {
  const value = key === "spec" || key === "baseUrl" ? "https://x" : {};
  expect(problemsOf({ url: "https://x/mcp", [key]: value })).toEqual([
    expect.stringContaining(`has "${key}", which is for servers with "type": "openapi"`),
  ]);
});

test("keys in headers and addresses are secrets", () => {
  const outcome = read({
    type: "openapi",
    url: "https://x/o.json?token=tok-1234567",
    baseUrl: "https://x/?api_key=key-1234567",
    headers: { "X-Api-Key": "hdr-1234567" },
  });
  if (!outcome.ok) throw new Error("the config is right");
  expect(secretsOf(outcome)).toEqual(expect.arrayContaining(["tok-1234567", "key-1234567", "hdr-1234567"]));
});

test("the files that the config came from are known, as its documents may not refer to them", () => {
  const servers = {
    api: { type: "openapi", spec: "api.json" },
    other: { command: "node", envFile: "other.env", env: { KEY: "${file:key.json}" } },
  };
  const outcome = readConfig(JSON.stringify({ mcpServers: servers }), "c.json", {
    env: {},
    cwd: "/etc/x",
    sections: SECTIONS,
    readFile: () => "A=b",
  });
  expect(outcome.ok && outcome.config.servers[0]?.transport).toMatchObject({
    document: { configFiles: ["/etc/x/c.json", "/etc/x/key.json", "/etc/x/other.env"] },
  });
});
