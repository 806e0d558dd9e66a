/** The section `listen.admin`. */
import { describe, expect, test } from "vitest";
import { serveObstacles } from "../../../src/config/advice.js";
import { formatProblem } from "../../../src/config/problem.js";
import { type GoodConfig, type ReadOptions, readConfig } from "../../../src/config/read.js";
import { section } from "../../../src/features/admin/section.js";

const read = (text: string, options: ReadOptions = {}) =>
  readConfig(text, "/home/me/cardea.jsonc", { env: {}, sections: [section], ...options });

function good(file: object | string, options: ReadOptions = {}): GoodConfig {
  const outcome = read(typeof file === "string" ? file : JSON.stringify(file), options);
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(formatProblem).join("\n"));
  return outcome;
}

const adminOf = (file: object | string, options: ReadOptions = {}) =>
  good(file, options).config.features["listen.admin"];

test("has defaults, also in an empty file", () => {
  const defaults = { host: "127.0.0.1", port: 8081, showArguments: false };
  expect(adminOf("{}")).toEqual(defaults);
  expect(adminOf({ listen: { http: { port: 1 } } })).toEqual(defaults);
});

test("takes a port from a variable", () => {
  const text = `{ "listen": { "admin": { "port": "\${Q}" } } }`;
  expect(adminOf(text, { env: { Q: "0" } })?.port).toBe(0);
});

const admin = (port: number) => ({ sections: { "listen.admin": { port } } });

test("gives way to flags", () => {
  const text = `{ "listen": { "http": { "port": 3 }, "admin": { "host": "h" } } }`;
  expect(adminOf(text, { overrides: { port: 1, ...admin(2) } })).toMatchObject({ host: "h", port: 2 });
});

test.each([
  [{ http: { port: 9000 }, admin: { port: 9000 } }, {}, 9000],
  [{ http: { port: "9000", host: "0.0.0.0" }, admin: { port: 9000 } }, {}, 9000],
  [{}, { port: 8081 }, 8081],
  [{ http: { port: 9000 }, admin: { port: 9000 } }, admin(9001), undefined],
  [{ http: { port: 9000 }, admin: { port: 9000, host: "127.0.0.2" } }, {}, undefined],
  [{ http: { port: 0 }, admin: { port: 0 } }, {}, undefined],
])("is at another place than the listener for hosts: %j with %j", (listen, overrides, port) => {
  const outcome = read(JSON.stringify({ listen }), { overrides });
  const messages = outcome.problems.map(({ message }) => message);
  expect(messages).toEqual(
    port === undefined
      ? []
      : [
          `listen.http and listen.admin would both be at port ${port}; one of them needs another (--port, --admin-port)`,
        ],
  );
});

test("its token comes from a variable and is kept out of everything that is shown", () => {
  const token = "a-token-of-some-length";
  const file = { listen: { admin: { token: "${TOKEN}" } } };
  const env = { TOKEN: token };
  expect([adminOf(file, { env })?.token, good(file, { env }).secrets]).toEqual([token, [token, token]]);
  expect(good({ listen: { admin: { token } } }).secrets).toEqual([token]);
  const { problems } = read(JSON.stringify(file), { env: { TOKEN: "" } });
  const message = "listen.admin.token must have at least 16 characters, none of them a space";
  expect(problems.map((problem) => problem.message)).toEqual([message]);
});

describe("beyond this machine", () => {
  const obstacles = (listen: object) =>
    serveObstacles(good({ listen }).config, [section]).map(({ message }) => message);

  test("it needs a token", () => {
    expect(obstacles({ admin: { host: "::" } })).toEqual([
      'serve refuses to listen on ::, beyond this machine, without a "token" or "access" for the admin listener',
    ]);
    expect(obstacles({ admin: { host: "::", token: "a-token-of-some-length" } })).toEqual([]);
  });

  test.each(["dev.localhost", "127.999.1.1"])("is %s", (host) => {
    expect(obstacles({ admin: { host } })).toHaveLength(1);
  });
});
