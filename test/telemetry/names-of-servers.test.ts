/** The gateway's own sentences about servers that are called like secrets. */
import { expect, test } from "vitest";
import { Redactor } from "../../src/telemetry/redact.js";

const NAMES = [
  "bearer",
  "Bearer",
  "basic",
  "token",
  "secret",
  "password",
  "cookie",
  "authorization",
  "api-key",
  "DPoP",
];

test.each(NAMES)("a server called %s is named in full", (name) => {
  const redactor = new Redactor();
  const sentences = [
    `${name} answered 401 Unauthorized and asks for Basic: the credentials in the config were refused`,
    `${name} answered 503 Service Unavailable`,
    `${name} restarted.`,
    `${name}: 12 tools`,
    `${name}: npx is fetching the package y`,
    `server "${name}": env.K needs the variable X, which is not set and has no default`,
    `server "${name}" has an unknown key "x"; did you mean "y"?`,
    `server ${name} is misconfigured: env.K needs the variable X`,
    `server ${name}: needs_sign_in`,
    `required server ${name}: backoff`,
    `1 server is missing: ${name} (${name} answered 500)`,
    `run "cardea login ${name}"; if it takes a fixed key instead, set it under headers, such as "Authorization": "Bearer \${TOKEN}"`,
  ];
  expect(sentences.map((sentence) => redactor.text(sentence))).toEqual(sentences);
});

test.each([
  "Bearer abcdefgh1",
  "bearer ABCDEFGHIJ",
  "Bearer abcdefghijklmnopqrstuvwxyz",
  "authorization: Bearer answered",
  '"token": "answered"',
  'the server "x" has token=abcd1234efgh',
  "Basic dXNlcjpwYXNz",
])("a secret after such a word is redacted: %s", (text) => {
  expect(new Redactor().text(text)).toContain("[redacted]");
});
