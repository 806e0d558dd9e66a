/** Discovery on bad days: each step that is missing, slow, huge, broken, or leads to a private address. */
import { describe, expect, test } from "vitest";
import { OAuthError } from "../../../../src/features/sign-in/oauth/oauth-error.js";
import {
  adversarialServer,
  type Behaviour,
  halfAnswer,
  hangUp,
  html,
  huge,
  json,
  redirectTo,
  type Step,
  silent,
  status,
} from "../../../support/sign-in/adversarial-server.js";
import { discoverAt } from "./support.js";

const STEPS: readonly Step[] = ["prm-path", "oauth"];

/** Misbehaves at one step, and at the one that would be asked next. */
async function failing(step: Step, behaviour: Behaviour, timeoutMs = 60_000) {
  const server = await adversarialServer();
  server.set(step, behaviour);
  if (step === "oauth") server.set("oidc", behaviour);
  const error: unknown = await discoverAt(server.mcpUrl, { timeoutMs }).catch((thrown: unknown) => thrown);
  if (!(error instanceof OAuthError)) throw new Error("it did not fail as expected", { cause: error });
  return { server, error };
}

describe.each(STEPS)("metadata at %s", (step) => {
  const temporary: readonly [string, Behaviour, string][] = [
    ["500", status(500), "It answered 500."],
    ["503", status(503), "It answered 503."],
    ["429", status(429), "It answered 429."],
    ["a closed connection", hangUp, "other side closed"],
    ["half an answer", halfAnswer, ""],
    ["a megabyte", huge, "the answer is larger than 262144 bytes"],
  ];
  test.each(temporary)(
    "answered with %s: a temporary error, without a browser",
    async (_, behaviour, sentence) => {
      const { error, server } = await failing(step, behaviour);
      expect(error.message).toContain(sentence);
      expect(error.message).toContain(server.origin);
      expect(error.isTemporary).toBe(true);
      expect(server.steps()).not.toContain("authorize");
    },
  );

  test("not answered in time: a temporary error, without a browser", async () => {
    const { error } = await failing(step, silent, 100);
    expect([error.isTemporary, error.message]).toEqual([
      true,
      expect.stringContaining("no answer within 100 ms"),
    ]);
  });

  const targets: readonly [string, string][] = [
    ["a cloud's metadata service", "http://169.254.169.254/latest/meta-data"],
    ["a private network over https", "https://10.0.0.1/"],
    ["a private network in other notation", "https://0x0a000001/"],
    ["IPv6 of this site", "https://[fd00::1]/"],
    ["plain http", "http://as.example.com/"],
    ["a file", "file:///etc/passwd"],
    ["a URL with credentials", "https://user:pass@as.example.com/"],
  ];
  test.each(targets)("redirected to %s is not followed", async (_, target) => {
    const { error } = await failing(step, redirectTo(target));
    const reason = error.steps.find(({ outcome }) => outcome === "failed")?.reason;
    expect(reason).toMatch(/private network|is not https:|has credentials in it/);
    expect(error.isTemporary).toBe(false);
    expect(JSON.stringify(error.steps)).not.toContain("user:pass");
  });

  test("redirected in a loop stops after three redirects", async () => {
    const server = await adversarialServer();
    server.challenge = undefined;
    server.set(step, (response, { path }) =>
      redirectTo(`${server.origin}${path}`)(response, server.seen[0]!),
    );
    await discoverAt(server.mcpUrl).catch(() => {});
    expect(server.steps().filter((asked) => asked === step)).toHaveLength(4);
  });

  test("redirected to another URL of the same server is followed", async () => {
    const server = await adversarialServer();
    server.set(step, redirectTo("/moved"));
    const document =
      step === "oauth"
        ? { issuer: server.issuer, token_endpoint: `${server.issuer}/token` }
        : { resource: server.mcpUrl, authorization_servers: [server.issuer] };
    server.set("other", json(document));
    expect((await discoverAt(server.mcpUrl)).discovered.authorizationServer.issuer).toBe(server.issuer);
  });
});

describe("an authorization server", () => {
  test.each([
    ["https://10.0.0.1", "private network"],
    ["https://127.0.0.1.evil.invalid", ""],
    ["https://[::ffff:10.0.0.1]", "private network"],
    ["https://user:pass@as.example.com", "contains credentials"],
  ])("at %s is not requested", async (issuer, sentence) => {
    const server = await adversarialServer();
    server.resourceMetadata.authorization_servers = [issuer];
    const error: unknown = await discoverAt(server.mcpUrl).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OAuthError);
    expect((error as OAuthError).message).toContain(sentence);
  });

  test("whose every URL is an HTML page has no metadata", async () => {
    const { error, server } = await failing("oauth", html);
    expect(error.isTemporary).toBe(false);
    expect(error.message).toContain("It answered 200 with something other than a JSON object (text/html)");
    expect(server.steps()).toEqual(["mcp", "prm-path", "oauth", "oidc"]);
  });

  test("that is down does not prevent the next one", async () => {
    const down = await adversarialServer();
    const server = await adversarialServer();
    down.set("oauth", status(503));
    down.set("oidc", status(503));
    server.resourceMetadata.authorization_servers = [down.issuer, server.issuer];
    expect((await discoverAt(server.mcpUrl)).discovered.authorizationServer.issuer).toBe(server.issuer);
  });
});
