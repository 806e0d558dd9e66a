/** Which values of a config count as secrets: all that a server gets, unless they are plainly none. */
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { secretsOf } from "../../src/cli/secrets-of.js";
import { readConfig } from "../../src/config/read.js";

const secretsIn = (config: object, env: Record<string, string> = {}): readonly string[] => {
  const read = readConfig(JSON.stringify(config), "/x/cardea.json", {
    env,
    readFile: () => "from-a-file-7x9",
  } as never);
  if (!read.ok) throw new Error(JSON.stringify(read));
  return secretsOf(read);
};
const stdio = (server: object) => ({ mcpServers: { a: { command: "x", ...server } } });
const http = (server: object) => ({ mcpServers: { a: { url: "https://example.com/mcp", ...server } } });

const SECRETS = [
  "k3x9q7w2",
  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  "d3b07384-d113-4ec6-a7d5-8f1b2c3d4e5f",
  "0123456789abcdef0123456789abcdef",
  "correct horse battery staple",
  "P@ssw0rd!",
  "Zm9vYmFyYmF6",
  "tr0ub4dor&3",
  "qwertzuiopasdfghjkl",
];
const PLAIN = [
  ...[
    "true",
    "info",
    "DEBUG",
    "8080",
    "us-east-1",
    "gpt-4o-mini",
    "production",
    "Europe/Berlin",
    "en_US.UTF-8",
  ],
  ...[
    "/usr/local/bin:/usr/bin",
    "C:\\Users\\ann",
    "https://api.example.com/v1",
    "127.0.0.1:8080",
    "2025-06-18",
  ],
  ...["application/json", "read,write,admin", "ann@example.com", "claude-sonnet-4-20250514", ""],
];

describe("a value for a server is a secret unless it is plainly none", () => {
  test.each(SECRETS)("%s", (value) => {
    expect(secretsIn(stdio({ env: { ANYTHING: value } }))).toContain(value);
    expect(secretsIn(http({ headers: { "X-Anything": value } }))).toContain(value);
    expect(secretsIn(stdio({ args: ["--anything", "${V}"] }), { V: value })).toContain(value);
  });

  test.each(PLAIN)("not %s", (value) => {
    expect(secretsIn(stdio({ env: { ANYTHING: value } }))).toEqual([]);
    expect(secretsIn(http({ headers: { "X-Anything": value } }))).toEqual([]);
  });
});

const NAMES = [
  ...["API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "DB_PWD", "PASSPHRASE", "PRIVATE_KEY"],
  ...["CREDENTIALS", "AUTH", "COOKIE", "SESSION", "DSN", "CONNECTION_STRING", "ACCESS_KEY", "CLIENT_SECRET"],
  ...["SIGNING", "SALT", "PAT", "BEARER", "WEBHOOK", "JWT", "DB_PASS", "accessToken", "X-Api-Key"],
];

test.each(NAMES)("a word under the name %s is a secret, too", (name) => {
  expect(secretsIn(stdio({ env: { [name]: "swordfish" } }))).toEqual(["swordfish"]);
});

test.each([
  ...[
    ["TOKEN_FILE", "/run/token"],
    ["PWD", "/srv/data"],
    ["AUTH", "none"],
    ["SESSION_TIMEOUT", "360000"],
  ],
  ...[
    ["AUTH_URL", "https://example.com/auth"],
    ["MAX_TOKENS", "4096000"],
    ["PASSWORD_MIN_LENGTH", "100000"],
  ],
])("%s: %s is no secret", (name, value) => {
  expect(secretsIn(stdio({ env: { [name as string]: value } }))).toEqual([]);
});

test.each([
  join(tmpdir(), "cardea-9dyNR8q", "memory.jsonl"),
  [join(tmpdir(), "k3x9q7w2"), join(tmpdir(), "wJalrXUtnFEMI", "bin")].join(delimiter),
])("the path %s is no secret, as this machine has its first folder", (value) => {
  expect(secretsIn(stdio({ env: { ANYTHING: value } }))).toEqual([]);
  expect(secretsIn(stdio({ env: { ANYTHING: "${V}" } }), { V: value })).toEqual([]);
});

test.each([
  "/wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  `${join(tmpdir(), "x")}?key=k3x9q7w2`,
  `${join(tmpdir(), "x")} k3x9q7w2`,
])("%s is a secret: it only begins like a path", (value) => {
  expect(secretsIn(stdio({ env: { ANYTHING: value } }))).toContain(value);
});

test("the parts of a secret that servers may echo alone are secrets as well", () => {
  const basic = Buffer.from("ann:hunter2x").toString("base64");
  const found = secretsIn({
    mcpServers: {
      a: {
        url: "https://example.com/hook/9f8e7d6c5b4a3f2e?key=q1w2e3r4&page=2",
        headers: { Authorization: `Basic ${basic}`, "X-Auth": "Bearer  tok3n-t0k3n-x" },
      },
      b: {
        command: "x",
        args: ["--token", "abc123", "--api-key=def456", "postgres://ann:s3cr3tpw@db/x", "server.js"],
        env: { DB: "Server=h;Password=k9j8h7g6", JSON_SETTINGS: '{"a":{"key":"m5n6b7v8"}}', F: "${file:x}" },
      },
    },
  });
  expect(found).toEqual(
    expect.arrayContaining([
      ...["9f8e7d6c5b4a3f2e", "q1w2e3r4", "hunter2x", basic, "tok3n-t0k3n-x"],
      ...["abc123", "def456", "s3cr3tpw", "k9j8h7g6", "m5n6b7v8", "from-a-file-7x9"],
    ]),
  );
  for (const plain of ["ann", "example.com", "server.js", "2", "h"]) expect(found).not.toContain(plain);
});
