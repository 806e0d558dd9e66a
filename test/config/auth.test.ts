/** `auth` of a config, and what stands there for the listeners that strangers may reach. */
import { describe, expect, test } from "vitest";
import { advise, serveObstacles } from "../../src/config/advice.js";
import { type GoodConfig, type ReadOptions, readConfig } from "../../src/config/read.js";

const HASH = "0a".repeat(32);
const read = (config: object, options: ReadOptions = {}) =>
  readConfig(JSON.stringify(config), "/home/me/cardea.json", { env: {}, ...options });
function good(config: object, options?: ReadOptions): GoodConfig {
  const outcome = read(config, options);
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
  return outcome;
}
const problems = (config: object, options?: ReadOptions): readonly string[] => {
  const outcome = read(config, options);
  return outcome.problems.map(({ message }) => message);
};
const key = (id: string, more: object = {}) => ({ id, hash: `sha256:${HASH}`, ...more });
const jwt = { issuer: "https://login.example.com" };

describe("auth", () => {
  test("is parsed completely: digests in one form, times in ms, audiences as a list", () => {
    const { auth } = good({
      auth: {
        keys: [key("ci", { groups: ["robots"], expires: "2027-01-31" }), { id: "me", hash: "B".repeat(64) }],
        jwt: { ...jwt, audience: "https://mcp.example.com" },
        requiredScopes: ["mcp"],
        resource: "https://mcp.example.com/mcp",
      },
    }).config;
    expect(auth).toEqual({
      keys: [
        { id: "ci", digest: HASH, groups: ["robots"], expiresAt: Date.UTC(2027, 0, 31) },
        { id: "me", digest: "b".repeat(64), groups: [] },
      ],
      jwt: {
        issuer: "https://login.example.com",
        audience: ["https://mcp.example.com"],
        algorithms: ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"],
        groupsClaim: "groups",
        scopes: [],
      },
      resource: "https://mcp.example.com/mcp",
      requiredScopes: ["mcp"],
    });
  });

  test("may have no key, as after the last one was revoked: then no host is let in, with advice", () => {
    const { config } = good({ auth: { keys: [] } });
    expect(config.auth?.keys).toEqual([]);
    expect(advise(config)).toContainEqual({
      path: ["auth", "keys"],
      message: "there is no key in it, so no host is let in",
    });
  });

  test("is absent where the file has none", () => {
    expect(Object.hasOwn(good({}).config, "auth")).toBe(false);
  });

  test.each([
    [{}, 'auth lets nobody in: it needs "keys", "jwt" or "signIn"'],
    [
      { keys: [key("shared")] },
      "auth.keys[0].id must not be an id of the gateway itself, or read like one (anonymous, operator, admin-token, shared, service, group:NAME); give the key another id",
    ],
    [
      { keys: [key("a")], requiredScopes: ["x"] },
      'auth.requiredScopes are scopes of tokens, and need "jwt" or "signIn"',
    ],
    [{ keys: [key("a"), key("b")] }, "auth.keys[1].hash is that of an earlier key"],
  ])("%j is contradictory", (auth, message) => {
    expect(problems({ auth })).toEqual([message]);
  });

  test("requires a public URL for tokens of a gateway beyond loopback", () => {
    const message = 'auth needs "resource": the URL under which hosts reach the gateway';
    expect(problems({ auth: { jwt } }, { overrides: { host: "0.0.0.0" } })).toEqual([message]);
    expect(problems({ auth: { jwt } })).toEqual([]);
    expect(problems({ auth: { keys: [key("a")] }, listen: { http: { host: "0.0.0.0" } } })).toEqual([]);
  });

  test("in a host's own file makes it Cardea's: it is never ignored", () => {
    const outcome = readConfig('{ "auth": {} }', "/home/me/.mcp.json", { env: {} });
    expect(outcome.ok).toBe(false);
  });
});

describe("beyond this machine", () => {
  test("a flag allows it as the file would", () => {
    expect(good({}).config.listen.http.insecure).toBe(false);
    expect(good({}, { overrides: { insecure: true } }).config.listen.http.insecure).toBe(true);
    expect(good({ listen: { http: { insecure: true } } }).config.listen.http.insecure).toBe(true);
  });

  test("check reports what serve would refuse, and what is open to all", () => {
    const advice = (config: object) => advise(good(config).config).map(({ message }) => message);
    const obstacles = (config: object) =>
      serveObstacles(good(config).config, []).map(({ message }) => message);
    const http = { host: "0.0.0.0" };
    const server = { mcpServers: { a: { command: "x" } } };
    expect(obstacles({ ...server, listen: { http } })).toEqual([
      'serve refuses to listen on 0.0.0.0, beyond this machine, without "auth" or "insecure": true',
    ]);
    expect(advice({ ...server, listen: { http: { ...http, insecure: true } } })).toEqual([
      "every client that reaches this address may call every tool",
    ]);
    // What serve takes for this machine, check does too, and nothing else.
    for (const host of ["dev.localhost", "127.999.1.1"]) {
      expect(obstacles({ ...server, listen: { http: { host } } })).toHaveLength(1);
    }
    expect(obstacles({ ...server, listen: { http: { host: "LOCALHOST" } } })).toEqual([]);
    const keys = [key("old", { expires: "2020-01-01" })];
    expect(advice({ ...server, listen: { http }, auth: { keys } })).toEqual(["the key of old has expired"]);
  });
});
