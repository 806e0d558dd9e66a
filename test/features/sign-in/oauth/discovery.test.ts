/** Discovery, rule by rule (2026-07-28: basic/authorization/authorization-server-discovery). */
import { describe, expect, test } from "vitest";
import { canonicalUri, discover } from "../../../../src/features/sign-in/oauth/client.js";
import { OAuthError } from "../../../../src/features/sign-in/oauth/oauth-error.js";
import type { Quirks, Step } from "../../../../src/features/sign-in/types.js";
import {
  type AdversarialOptions,
  adversarialServer,
  html,
  json,
  missing,
  status,
} from "../../../support/sign-in/adversarial-server.js";
import { discoverAt, fetchFor } from "./support.js";

const failedOf = (steps: readonly Step[]) => steps.filter(({ outcome }) => outcome === "failed");

/** The error of a discovery that fails. */
async function errorOf(mcpUrl: string, way: Parameters<typeof discoverAt>[1] = {}): Promise<OAuthError> {
  const error: unknown = await discoverAt(mcpUrl, way).catch((thrown: unknown) => thrown);
  if (error instanceof OAuthError) return error;
  throw new Error("it did not fail as expected", { cause: error });
}

describe("the metadata of the resource", () => {
  test("is requested only at the URL of the challenge", async () => {
    const server = await adversarialServer();
    server.challenge = { resource_metadata: `${server.origin}/named-resource-metadata`, scope: "a b" };
    const { discovered, steps } = await discoverAt(server.mcpUrl);
    expect(discovered).toMatchObject({ resource: server.mcpUrl, scopes: ["a", "b"] });
    expect(server.steps()).toEqual(["mcp", "prm-named", "oauth"]);
    expect(failedOf(steps)).toEqual([]);
  });

  test.each([
    ["no header", undefined],
    ["a header without the URL", { realm: "mcp" }],
  ])("with %s is requested at the path of the server, and not at the root", async (_, challenge) => {
    const server = await adversarialServer();
    server.challenge = challenge;
    expect((await discoverAt(server.mcpUrl)).discovered.scopes).toEqual(["read"]);
    expect(server.steps()).toEqual(["mcp", "prm-path", "oauth"]);
  });

  test.each([
    ["404", missing],
    ["401", status(401)],
    ["an HTML page", html],
    ["JSON that is no object", json([])],
  ])("is requested at the root if the path answers %s", async (_, behaviour) => {
    const server = await adversarialServer();
    server.challenge = undefined;
    server.set("prm-path", behaviour);
    const { steps } = await discoverAt(server.mcpUrl);
    expect(server.steps()).toEqual(["mcp", "prm-path", "prm-root", "oauth"]);
    expect(failedOf(steps)).toMatchObject([
      { what: `GET ${server.origin}/.well-known/oauth-protected-resource/mcp` },
    ]);
  });

  test("is requested at the path, never at the root, if the URL of the challenge is 404", async () => {
    const server = await adversarialServer();
    server.challenge = { resource_metadata: `${server.origin}/nothing-here` };
    expect((await discoverAt(server.mcpUrl)).discovered.resource).toBe(server.mcpUrl);
    expect(server.steps()).toEqual(["mcp", "other", "prm-path", "oauth"]);
    server.set("prm-path", missing);
    const { message } = await errorOf(server.mcpUrl);
    expect(message).toContain(
      `names ${server.origin}/nothing-here as its resource metadata (RFC 9728), but there is none`,
    );
    expect(server.steps()).not.toContain("prm-root");
  });

  test.each([
    ["of a server whose path is empty is at the root", "/", ["mcp", "prm-root", "oauth"]],
    ["of a path with a slash at its end is asked with it first", "/mcp/", ["mcp", "prm-path", "oauth"]],
    ["of a deeper path has the whole path", "/a/b/mcp", ["mcp", "prm-path", "oauth"]],
  ])("%s", async (_, mcpPath, expected) => {
    const server = await adversarialServer({ mcpPath });
    server.challenge = undefined;
    await discoverAt(server.mcpUrl);
    expect(server.steps()).toEqual(expected);
  });

  test("of a path with a trailing slash may be published without it", async () => {
    const server = await adversarialServer({ mcpPath: "/mcp/" });
    server.challenge = undefined;
    server.set("prm-path", missing);
    server.set("other", (response, seen) => {
      const isIt = seen.path === "/.well-known/oauth-protected-resource/mcp";
      const answer = isIt
        ? json({ resource: server.mcpUrl, authorization_servers: [server.issuer] })
        : missing;
      answer(response, seen);
    });
    expect((await discoverAt(server.mcpUrl)).discovered.resource).toBe(server.mcpUrl);
    expect(server.steps()).toEqual(["mcp", "prm-path", "other", "oauth"]);
  });

  test.each([
    ["another host", "https://evil.example.com/mcp"],
    ["another path", "ORIGIN/other"],
    ["a path that only begins alike", "ORIGIN/mc"],
    ["a deeper path", "ORIGIN/mcp/deeper"],
    ["a path with a query", "ORIGIN/mcp?tenant=other"],
    ["a host with credentials", "http://user@HOST/mcp"],
    ["no URL", "mcp"],
    ["nothing", undefined],
  ])("about %s stops discovery", async (_, resource) => {
    const server = await adversarialServer();
    const { host } = new URL(server.origin);
    server.resourceMetadata.resource = resource?.replace("ORIGIN", server.origin).replace("HOST", host);
    const { message, steps, isTemporary } = await errorOf(server.mcpUrl);
    expect(message).toContain("RFC 9728, 3.3");
    expect(failedOf(steps)).toMatchObject([{ what: "check the resource of the metadata" }]);
    expect(isTemporary).toBe(false);
    expect(server.steps()).toEqual(["mcp", "prm-path"]);
  });

  test.each(["ORIGIN/mcp/", "ORIGIN", "ORIGIN/"])(
    "may be about %s, which is sent unchanged",
    async (resource) => {
      const server = await adversarialServer();
      server.resourceMetadata.resource = resource.replace("ORIGIN", server.origin);
      expect((await discoverAt(server.mcpUrl)).discovered.resource).toBe(server.resourceMetadata.resource);
    },
  );

  test.each([[[]], [undefined], ["https://as.example.com"], [[7]]])(
    "with authorization_servers %j: the config must name the issuer",
    async (servers) => {
      const server = await adversarialServer();
      server.resourceMetadata.authorization_servers = servers;
      expect((await errorOf(server.mcpUrl)).message).toContain("Set auth.issuer in the config.");
      const { discovered } = await discoverAt(server.mcpUrl, { issuer: server.issuer });
      expect(discovered.authorizationServer.issuer).toBe(server.issuer);
    },
  );
});

describe("a server of 2025-03-26, without metadata of the resource,", () => {
  async function old(options: AdversarialOptions = {}) {
    const server = await adversarialServer(options);
    server.challenge = undefined;
    server.set("prm-path", missing);
    server.set("prm-root", missing);
    return server;
  }

  test("has its authorization server at its origin", async () => {
    const server = await old();
    const { discovered } = await discoverAt(server.mcpUrl);
    expect(discovered).toMatchObject({ resource: server.mcpUrl, scopes: [] });
    expect(discovered.authorizationServer.issuer).toBe(server.origin);
    expect(server.steps()).toEqual(["mcp", "prm-path", "prm-root", "oauth"]);
  });

  test("and without any metadata, the endpoints /authorize, /token and /register", async () => {
    const server = await old();
    server.set("oauth", missing);
    server.set("oidc", html);
    const { authorizationServer } = (await discoverAt(server.mcpUrl)).discovered;
    expect(authorizationServer.metadata).toMatchObject({
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/authorize`,
      token_endpoint: `${server.origin}/token`,
      registration_endpoint: `${server.origin}/register`,
      code_challenge_methods_supported: ["S256"],
    });
  });

  test.each(["prm-path", "prm-root", "oauth", "oidc"] as const)(
    "is not assumed while %s answers 503",
    async (step) => {
      const server = await old();
      server.set("oauth", missing);
      server.set("oidc", missing);
      server.set(step, status(503));
      const { isTemporary, message } = await errorOf(server.mcpUrl);
      expect([isTemporary, message]).toEqual([true, expect.stringContaining("It answered 503")]);
    },
  );

  test("is not assumed if its metadata names another issuer", async () => {
    const server = await old();
    server.metadata.issuer = "https://other.example.com";
    expect((await errorOf(server.mcpUrl)).quirk).toBe("issuer: https://other.example.com");
  });
});

describe("the metadata of an issuer", () => {
  test.each([
    ["", ["oauth", "oidc"]],
    ["/tenant", ["oauth", "oidc", "oidc-appended"]],
    ["/tenant/deep", ["oauth", "oidc", "oidc-appended"]],
  ] as const)(
    "with the path '%s' are requested in the order of the specification",
    async (issuerPath, all) => {
      const server = await adversarialServer({ issuerPath });
      for (const [at, step] of all.entries()) {
        for (const earlier of all.slice(0, at)) server.set(earlier, at % 2 === 1 ? missing : html);
        const from = server.seen.length;
        expect((await discoverAt(server.mcpUrl)).discovered.authorizationServer.issuer).toBe(server.issuer);
        expect(server.steps().slice(from)).toEqual(["mcp", "prm-path", ...all.slice(0, at), step]);
      }
    },
  );

  test("are those of the first working authorization server", async () => {
    const server = await adversarialServer({ issuerPath: "/good" });
    server.resourceMetadata.authorization_servers = [
      "not a URL",
      "ftp://files.example.com",
      "http://10.0.0.1/as",
      "https://as.example.com/as?tenant=1",
      `${server.origin}/nothing`,
      server.issuer,
      "https://never-asked.example.com",
    ];
    const { discovered, steps } = await discoverAt(server.mcpUrl);
    expect(discovered.authorizationServer.issuer).toBe(server.issuer);
    expect(failedOf(steps).map(({ what }) => what)).toEqual([
      "use the issuer not a URL",
      "use the issuer ftp://files.example.com/",
      "use the issuer http://10.0.0.1/as",
      "use the issuer https://as.example.com/as",
      `GET ${server.origin}/.well-known/oauth-authorization-server/nothing`,
      `GET ${server.origin}/.well-known/openid-configuration/nothing`,
      `GET ${server.origin}/nothing/.well-known/openid-configuration`,
    ]);
  });

  /** What is written there, whether a quirk excuses it, and which. */
  const slash: Quirks = { issuerSlash: true };
  test.each([
    [
      "another host",
      "https://evil.example.com",
      "issuer: https://evil.example.com",
      { issuer: "https://evil.example.com" },
    ],
    ["a slash at its end", "ISSUER/", "issuer-slash", slash],
    ["a deeper path", "ISSUER/deeper", "issuer: ISSUER/deeper", { issuer: "ISSUER/deeper" }],
    ["another case of the path", "ORIGIN/Tenant", "issuer: ORIGIN/Tenant", { issuer: "ORIGIN/Tenant" }],
    [
      "another case of the host",
      "HTTP://127.0.0.1:PORT/tenant",
      "issuer: HTTP://127.0.0.1:PORT/tenant",
      undefined,
    ],
    ["a percent sign", "ORIGIN/%74enant", "issuer: ORIGIN/%74enant", undefined],
    ["a query", "ISSUER?a", "issuer: ISSUER?a", undefined],
    ["nothing", undefined, undefined, undefined],
  ])("with %s must not be used; the quirk is named", async (_, written, quirk, mends) => {
    const server = await adversarialServer({ issuerPath: "/tenant" });
    const fill = (text: string) =>
      text
        .replace("ISSUER", server.issuer)
        .replace("ORIGIN", server.origin)
        .replace("PORT", new URL(server.origin).port);
    server.metadata.issuer = written === undefined ? undefined : fill(written);
    const error = await errorOf(server.mcpUrl);
    expect(error.quirk).toBe(quirk === undefined ? undefined : fill(quirk));
    expect(error.message).toContain("no authorization server has usable metadata");
    const failed = error.steps.find(({ what }) => what === "check the issuer of the metadata");
    expect(failed).toMatchObject({ outcome: "failed", reason: expect.stringContaining("RFC 8414") });
    if (mends === undefined) return;
    const quirks = mends === slash ? slash : { issuer: fill(String((mends as { issuer: string }).issuer)) };
    const { authorizationServer } = (await discoverAt(server.mcpUrl, { quirks })).discovered;
    expect(authorizationServer.issuer).toBe(server.metadata.issuer);
    // A quirk excuses what it names, and nothing else.
    server.metadata.issuer = "https://evil2.example.com";
    await errorOf(server.mcpUrl, { quirks });
  });

  test("with an endpoint that is not https: must not be used", async () => {
    for (const endpoint of ["http://as.example.com/token", "ftp://as.example.com/token", "token", 7]) {
      const server = await adversarialServer();
      server.metadata.token_endpoint = endpoint;
      expect((await errorOf(server.mcpUrl)).steps).toContainEqual(
        expect.objectContaining({ what: "check the endpoints", outcome: "failed" }),
      );
    }
    const server = await adversarialServer();
    server.metadata.registration_endpoint = "javascript:alert(1)";
    expect((await errorOf(server.mcpUrl)).message).toContain("registration_endpoint is not https:");
  });

  test("with http: endpoints on loopback may be used for a server on loopback only", async () => {
    const metadata = {
      issuer: "https://mcp.example.com",
      token_endpoint: "http://127.0.0.1:1/token",
    };
    const answers = async (url: string) =>
      url.includes("protected-resource")
        ? Response.json({ resource: "https://mcp.example.com/mcp", authorization_servers: [metadata.issuer] })
        : Response.json(metadata);
    const serverUrl = "https://mcp.example.com/mcp";
    await expect(discover({ serverUrl, challenge: undefined, fetch: answers })).rejects.toThrow(
      "token_endpoint is not https:",
    );
  });

  test("may be those of the configured issuer, instead of all that the server names", async () => {
    const server = await adversarialServer({ issuerPath: "/mine" });
    server.resourceMetadata.authorization_servers = ["https://other.example.com"];
    const { discovered } = await discoverAt(server.mcpUrl, { issuer: server.issuer });
    expect(discovered.authorizationServer.issuer).toBe(server.issuer);
  });
});

describe("a deviation that does not stop discovery is a step with its quirk:", () => {
  test.each([[undefined], [["plain"]], ["S256"]])("code_challenge_methods_supported %j", async (methods) => {
    const server = await adversarialServer();
    server.metadata.code_challenge_methods_supported = methods;
    const { steps } = await discoverAt(server.mcpUrl);
    expect(failedOf(steps)).toMatchObject([{ what: "check PKCE with S256", quirk: "assume-s256" }]);
    const mended = await discoverAt(server.mcpUrl, { quirks: { assumeS256: true } });
    expect(failedOf(mended.steps)).toEqual([]);
  });

  test.each([
    ["https://login.microsoftonline.com/tenant/v2.0", "no-resource", { noResource: true }],
    ["https://github.com/login/oauth", "redirect-host: localhost", { redirectHost: "localhost" }],
    ["https://www.figma.com", "client-name: NAME", { clientName: "Listed" }],
  ] as const)("%s", async (issuer, quirk, quirks) => {
    const serverUrl = "https://mcp.example.com/mcp";
    const fetch = async (url: string) =>
      Response.json(
        url.includes("protected-resource")
          ? { resource: serverUrl, authorization_servers: [issuer] }
          : { issuer, token_endpoint: `${issuer}/token`, code_challenge_methods_supported: ["S256"] },
      );
    const without = await discover({ serverUrl, challenge: undefined, fetch });
    expect(without.steps.filter((step) => step.quirk !== undefined)).toMatchObject([{ quirk }]);
    const mended = await discover({ serverUrl, challenge: undefined, fetch, quirks });
    expect(mended.steps.filter((step) => step.quirk !== undefined)).toEqual([]);
  });
});

test.each([
  ["https://mcp.example.com", "https://mcp.example.com"],
  ["https://mcp.example.com/", "https://mcp.example.com"],
  ["https://MCP.example.com:443/a/?b=c#d", "https://mcp.example.com/a/?b=c"],
])("the canonical URI of %s is %s", (url, expected) => {
  expect(canonicalUri(url)).toBe(expected);
});

test("steps contain URLs without their query", async () => {
  const server = await adversarialServer();
  const serverUrl = `${server.mcpUrl}?api_key=geheim`;
  const challenge = `Bearer resource_metadata="${server.origin}/named-resource-metadata?token=geheim"`;
  const { steps } = await discover({ serverUrl, challenge, fetch: fetchFor(serverUrl) });
  expect(JSON.stringify(steps)).not.toContain("geheim");
});
