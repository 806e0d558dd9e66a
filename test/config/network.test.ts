/** The proxy and the TLS settings of a server, as the config has them. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { secretsOf } from "../../src/cli/secrets-of.js";
import { formatProblem } from "../../src/config/problem.js";
import { readConfig } from "../../src/config/read.js";
import { CERTIFICATE, KEY } from "../support/certificates.js";

const read = (
  server: object,
  env: Readonly<Record<string, string>> = {},
  files: Record<string, string> = {},
) =>
  readConfig(JSON.stringify({ mcpServers: { far: server } }, null, 1), "c.json", {
    ...{ env, cwd: "/etc/x" },
    readFile: (path) => files[path.replace("/etc/x/", "")] ?? "",
  });

const problemsOf = (...given: Parameters<typeof read>): readonly string[] => {
  const outcome = read(...given);
  return outcome.problems.map((problem) => formatProblem(problem));
};

const far = { url: "https://far.example/mcp" };

describe("proxy", () => {
  test.each([
    ["http://proxy.corp:3128", "http://proxy.corp:3128"],
    ["https://me:pass@proxy.corp/", "https://me:pass@proxy.corp/"],
    ["proxy.corp:3128", "proxy.corp:3128"],
    ["none", "none"],
    ["NONE", "none"],
  ])("may be %s", (proxy, complete) => {
    const outcome = read({ ...far, proxy });
    expect(outcome.ok && outcome.config.servers[0]?.transport).toMatchObject({
      network: { proxy: complete },
    });
  });

  test("is not there where its variable is empty", () => {
    const outcome = read({ ...far, proxy: "${PROXY:-}" });
    expect(outcome.ok && outcome.config.servers[0]?.transport).not.toHaveProperty("network");
  });

  test.each(["socks5://me:hunter22@x:1", "http://", "http://x/path", "http://x?hunter22", "ftp://x", "a b"])(
    "that is none is refused, without its text: %s",
    (proxy) => {
      expect(problemsOf({ ...far, proxy })).toEqual([
        'c.json:5:4: server "far" has a "proxy" that is neither the http: or https: URL of a proxy nor "none"',
      ]);
    },
  );
});

describe("tls", () => {
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    type: "pkcs8",
    format: "pem",
  });
  const locked = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    ...{ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" },
  });
  const broken = CERTIFICATE.replace(/\n[A-Za-z0-9+/]{60}/, "\nAAAA");

  test("takes PEM as text, from a file, and from a variable whose line breaks are escaped", () => {
    const files = { "ca.pem": `a comment\n${CERTIFICATE}${CERTIFICATE}` };
    const env = { CERT: CERTIFICATE.replaceAll("\n", "\\n"), KEY };
    const tls = { ca: "${file:ca.pem}", cert: "${CERT}", key: "${KEY}", serverName: "far.corp" };
    const outcome = read({ ...far, tls }, env, files);
    expect(outcome.ok && outcome.config.servers[0]?.transport).toMatchObject({
      network: {
        tls: { ca: files["ca.pem"].trimEnd(), cert: CERTIFICATE, key: KEY, serverName: "far.corp" },
      },
    });
  });

  test.each([
    [{ ca: "/etc/ca.pem" }, '"tls.ca" that holds no certificate in PEM'],
    [{ ca: KEY }, '"tls.ca" that holds no certificate in PEM'],
    [{ ca: broken }, '"tls.ca" that cannot be read as a certificate'],
    [{ ca: `${CERTIFICATE}${broken}` }, '"tls.ca" that cannot be read as a certificate: certificate 2 of 2'],
    [{ cert: CERTIFICATE }, '"tls.cert" without its "tls.key"'],
    [{ key: KEY }, '"tls.key" without its "tls.cert"'],
    [{ cert: CERTIFICATE, key: "hunter22" }, '"tls.key" that cannot be read as a private key in PEM'],
    [{ cert: CERTIFICATE, key: CERTIFICATE }, '"tls.key" that cannot be read as a private key in PEM'],
    [{ cert: CERTIFICATE, key: other }, '"tls.key" that is not the key of "tls.cert"'],
    [{ cert: CERTIFICATE, key: locked }, '"tls.key" that is encrypted'],
    [{ cert: KEY, key: KEY }, '"tls.cert" that holds no certificate in PEM'],
    [{ serverName: "https://x" }, "is not a host name"],
    [{ rejectUnauthorized: false }, "rejectUnauthorized"],
  ])("that cannot be used is refused at its place: %#", (tls, problem) => {
    const [found, ...more] = problemsOf({ ...far, tls });
    expect([found, more]).toEqual([expect.stringMatching(/^c\.json:[67]:\d+: /), []]);
    expect(found).toContain(problem);
    expect(found).not.toContain("hunter22");
  });

  test.each([
    [{ url: "http://far.example/mcp", tls: { ca: CERTIFICATE } }, '"tls", and a URL that is http:'],
    [{ command: "x", tls: { ca: CERTIFICATE } }, '"tls", which stdio servers do not have'],
    [{ command: "x", proxy: "none" }, '"proxy", which stdio servers do not have'],
  ])("is refused where it would have no effect: %#", (server, problem) => {
    expect(problemsOf(server)).toEqual([expect.stringContaining(problem)]);
  });
});

test("the key and the credentials of proxies, of the environment too, are secrets", () => {
  vi.stubEnv("HTTPS_PROXY", "http://me:envword@proxy.corp");
  onTestFinished(() => void vi.unstubAllEnvs());
  const outcome = read({
    ...far,
    proxy: "http://me:o%40word@proxy.corp",
    tls: { cert: CERTIFICATE, key: KEY },
  });
  const secrets = outcome.ok ? secretsOf(outcome) : [];
  const basic = (text: string): string => Buffer.from(text).toString("base64");
  expect(secrets).toEqual(
    expect.arrayContaining([KEY, "o@word", "o%40word", basic("me:o@word"), "envword", basic("me:envword")]),
  );
});
