/** Another issuer than the first one gets nothing: no secret, assertion, code, refresh token, registration or browser. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Logger, SILENT } from "../../../src/core/logger.js";
import { principalOf } from "../../../src/features/sign-in/cli/login.js";
import { openLocalSignIns, type SignInOperations } from "../../../src/features/sign-in/local-sign-ins.js";
import type { Gateway } from "../../../src/gateway/gateway.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { openedFeatures } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import { sample } from "../../support/sample.js";
import {
  type AdversarialServer,
  adversarialServer,
  missing,
  oauthError,
  redirectTo,
  type Seen,
} from "../../support/sign-in/adversarial-server.js";
import { Browser } from "../../support/sign-in/browser.js";
import { credential, stateFolder, vaultIn } from "../vault/credentials.js";
import { startDesk } from "./sign-in-desk.js";

const SECRET = "the-secret-of-the-gateway";
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const KEY = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const MACHINES = {
  client_credentials: { type: "client_credentials", clientId: "cardea", clientSecret: SECRET },
  private_key_jwt: { type: "private_key_jwt", clientId: "cardea", privateKey: KEY },
} as const;

/** A server with its issuer at a path, and an issuer of a stranger. */
async function twoIssuers() {
  const [good, evil] = [await adversarialServer({ issuerPath: "/tenant" }), await adversarialServer()];
  return { good, evil };
}

/** Requests that carry a secret, a code or a registration. */
const SECRETIVE = new Set(["register", "authorize", "token", "device", "revoke"]);
const secretRequests = ({ seen }: AdversarialServer): readonly Seen[] =>
  seen.filter(({ step, method }) => SECRETIVE.has(step) && (method === "POST" || step === "authorize"));

/** What the server does once the gateway knows its issuer. */
const CHANGES: Readonly<Record<string, (good: AdversarialServer, evil: AdversarialServer) => void>> = {
  "names another issuer": (good, evil) => {
    good.resourceMetadata.authorization_servers = [evil.issuer];
  },
  "names others before one that has no metadata": (good, evil) => {
    good.resourceMetadata.authorization_servers = ["https://none.invalid", evil.issuer];
  },
  "has another token_endpoint": (good, evil) => {
    good.metadata.token_endpoint = `${evil.issuer}/token`;
  },
  "moves its token_endpoint to the server's own port of another loopback name": (good) => {
    good.metadata.token_endpoint = `${good.issuer.replace("127.0.0.1", "localhost")}/token`;
  },
  "has no resource metadata any more, so that its origin would be the issuer": (good) => {
    for (const step of ["prm-path", "prm-root"] as const) good.set(step, missing);
    good.challenge = {};
  },
  "names resource metadata of the stranger": (good, evil) => {
    evil.resourceMetadata.resource = good.mcpUrl;
    good.challenge = { resource_metadata: `${evil.origin}/named-resource-metadata` };
  },
  "redirects to resource metadata of the stranger": (good, evil) => {
    evil.resourceMetadata.resource = good.mcpUrl;
    good.set("prm-path", redirectTo(`${evil.origin}/named-resource-metadata`));
  },
  "redirects to metadata of the stranger under its own issuer": (good, evil) => {
    evil.metadata.issuer = good.issuer;
    good.set("oauth", redirectTo(`${evil.origin}/.well-known/oauth-authorization-server`));
  },
};

async function gatewayAt(state: string, mcpServers: object) {
  const lines: string[] = [];
  const line = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
  const config = configOf({ mcpServers, listen: { http: { port: 0 }, admin: { port: 0 } } });
  const logger: Logger = { ...SILENT, info: line, warn: line, error: line };
  const features = await openedFeatures(config, { logger, stateFolder: state });
  const gateway: Gateway = createGateway(config, { logger, version: "0.0.0-test", features });
  const { url } = await gateway.start();
  const stop = () => gateway.stop({ immediate: true });
  onTestFinished(stop);
  const call = async () => {
    const client = new Client({ name: "host", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const result = await client.callTool({ name: "notes__whoami", arguments: {} }).catch((error: Error) => ({
      isError: true,
      content: [{ text: error.message }],
    }));
    await client.close();
    return result as { readonly isError?: boolean; readonly content: readonly { readonly text?: string }[] };
  };
  return { call, stop, lines };
}

function state(): string {
  const folder = mkdtempSync(join(tmpdir(), "cardea-pin-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The commands `login` and `logins` over a state folder. */
function commandsAt(folder: string, auth: object, url: string): SignInOperations {
  const desk = openLocalSignIns({
    config: configOf({ mcpServers: { notes: { url, auth } }, listen: { http: { port: 0 } } }),
    env: { CARDEA_STATE_DIR: folder },
    gatewayUrl: undefined,
    logger: SILENT,
    store: undefined,
  });
  onTestFinished(() => desk.close());
  return desk;
}

describe.each(Object.keys(MACHINES) as (keyof typeof MACHINES)[])("the credentials of %s", (type) => {
  const auth = MACHINES[type];

  test.each(sample(`changes of ${type}`, Object.keys(CHANGES), 2))(
    "stay where they were when the server %s",
    async (change) => {
      const { good, evil } = await twoIssuers();
      const folder = state();
      const first = await gatewayAt(folder, { notes: { url: good.mcpUrl, auth } });
      expect(await first.call()).not.toMatchObject({ isError: true });
      const before = secretRequests(good).length;
      good.accessTokens.clear();
      CHANGES[change]?.(good, evil);
      const refused = await first.call();
      expect(refused.content[0]?.text).toMatch(/cardea login notes --accept-issuer|no authorization server/);
      await first.stop();
      // Also a process that has just started.
      expect(await (await gatewayAt(folder, { notes: { url: good.mcpUrl, auth } })).call()).toMatchObject({
        isError: true,
      });
      expect(secretRequests(evil)).toEqual([]);
      expect(secretRequests(good).length).toBe(before);
    },
  );

  test("follow the pinned issuer wherever the server lists it", async () => {
    const { good, evil } = await twoIssuers();
    const gateway = await gatewayAt(state(), { notes: { url: good.mcpUrl, auth } });
    expect(await gateway.call()).not.toMatchObject({ isError: true });
    good.resourceMetadata.authorization_servers = [evil.issuer, good.issuer];
    good.accessTokens.clear();
    expect(await gateway.call()).not.toMatchObject({ isError: true });
    expect(evil.seen).toEqual([]);
  });

  test("go nowhere else while the pinned issuer is away", async () => {
    const { good, evil } = await twoIssuers();
    const gateway = await gatewayAt(state(), { notes: { url: good.mcpUrl, auth } });
    expect(await gateway.call()).not.toMatchObject({ isError: true });
    good.resourceMetadata.authorization_servers = [good.issuer, evil.issuer];
    for (const step of ["oauth", "oidc", "oidc-appended"] as const) good.set(step, missing);
    good.accessTokens.clear();
    expect(await gateway.call()).toMatchObject({ isError: true });
    expect(secretRequests(evil)).toEqual([]);
  });

  test("name the first issuer aloud, and go to another one once an operator has accepted it", async () => {
    const { good, evil } = await twoIssuers();
    const folder = state();
    const servers = { notes: { url: good.mcpUrl, auth } };
    const gateway = await gatewayAt(folder, servers);
    await gateway.call();
    expect(gateway.lines.join("\n")).toContain(`the gateway signs in at ${good.issuer}`);
    good.resourceMetadata.authorization_servers = [evil.issuer];
    good.accessTokens.clear();
    await gateway.call();
    await gateway.stop();
    const commands = commandsAt(folder, auth, good.mcpUrl);
    expect(await commands.logins()).toMatchObject([
      {
        server: "notes",
        principal: "service",
        issuer: good.issuer,
        pin: { issuer: good.issuer, by: "first_use" },
      },
    ]);
    const accepted = await commands.acceptIssuer("notes");
    expect(accepted).toMatchObject({
      issuer: evil.issuer,
      before: { issuer: good.issuer },
      isChanged: true,
      needsPerson: false,
    });
    await (await gatewayAt(folder, servers)).call();
    expect(secretRequests(evil).length).toBeGreaterThan(0);
    // The first issuer is another one now.
    good.resourceMetadata.authorization_servers = [good.issuer];
    const before = secretRequests(good).length;
    expect(await (await gatewayAt(folder, servers)).call()).toMatchObject({ isError: true });
    expect(secretRequests(good).length).toBe(before);
  });

  test("go to the issuer of the config, also after a change, and to no other once that is gone", async () => {
    const { good, evil } = await twoIssuers();
    const folder = state();
    await (await gatewayAt(folder, { notes: { url: good.mcpUrl, auth } })).call();
    const named = { ...auth, issuer: evil.issuer };
    await (await gatewayAt(folder, { notes: { url: good.mcpUrl, auth: named } })).call();
    expect(secretRequests(evil).length).toBeGreaterThan(0);
    const before = secretRequests(good).length;
    expect(await (await gatewayAt(folder, { notes: { url: good.mcpUrl, auth } })).call()).toMatchObject({
      isError: true,
    });
    expect(secretRequests(good).length).toBe(before);
  });
});

describe("the sign-in of a person", () => {
  const PERSONS = { registered: {}, "with a secret": { clientId: "cardea", clientSecret: SECRET } };

  describe.each(Object.entries(PERSONS))("%s", (person, auth) => {
    const changes = [
      ...Object.keys(CHANGES),
      "has another authorization_endpoint",
      "has another registration_endpoint",
    ];
    test.each(sample(`changes of one ${person}`, changes, 2))(
      "shows no browser another issuer when the server %s",
      async (change) => {
        const { good, evil } = await twoIssuers();
        const desk = await startDesk({ mcpUrl: good.mcpUrl, server: auth });
        const begun = await desk.signIns.begin("notes", "anonymous");
        await desk.signIns.pasted(begun.login, await good.authorize(begun.url));
        if (change.endsWith("_endpoint") && CHANGES[change] === undefined)
          good.metadata[change.slice("has another ".length)] =
            `${evil.issuer}/${change.includes("auth") ? "authorize" : "register"}`;
        CHANGES[change]?.(good, evil);
        await expect(desk.signIns.begin("notes", "anonymous")).rejects.toThrow(
          /--accept-issuer|no authorization server/,
        );
        await expect(desk.signIns.begin("notes", "ann", { device: true })).rejects.toThrow();
        const page = await new Browser().open(await desk.signIns.connectUrl("notes", "ann"));
        expect(page.status).toBeGreaterThanOrEqual(400);
        expect(page.text).not.toContain("<form");
        expect(secretRequests(evil)).toEqual([]);
      },
    );
  });

  test("that was begun before the config named another issuer redeems no code", async () => {
    const { good, evil } = await twoIssuers();
    const folder = stateFolder();
    const before = await startDesk({ mcpUrl: good.mcpUrl, state: folder });
    const begun = await before.signIns.begin("notes", "anonymous");
    const callback = await good.authorize(begun.url);
    const now = await startDesk({ mcpUrl: good.mcpUrl, state: folder, server: { issuer: evil.issuer } });
    await expect(now.signIns.pasted(begun.login, callback)).rejects.toThrow(/names the issuer/);
    expect(good.steps()).not.toContain("token");
  });

  test("of an earlier version pins its issuer for every principal", async () => {
    const { good, evil } = await twoIssuers();
    const folder = stateFolder();
    const vault = await vaultIn(folder);
    const tokenEndpoint = `${good.issuer}/token`;
    await vault.write(
      credential({
        server: "notes",
        principal: "bob",
        issuer: good.issuer,
        resource: good.mcpUrl,
        tokenEndpoint,
      }),
    );
    good.resourceMetadata.authorization_servers = [evil.issuer];
    const desk = await startDesk({ mcpUrl: good.mcpUrl, state: folder });
    await expect(desk.signIns.begin("notes", "ann")).rejects.toThrow(/pinned to .*earlier version/);
    good.resourceMetadata.authorization_servers = [good.issuer];
    const begun = await desk.signIns.begin("notes", "ann");
    await desk.signIns.pasted(begun.login, await good.authorize(begun.url));
    expect((await desk.signIns.logins()).map(({ pin }) => pin?.by)).toEqual(["record", "record"]);
  });

  test("is possible again when the server names its first issuer again, and after a sign-out", async () => {
    const { good, evil } = await twoIssuers();
    const desk = await startDesk({ mcpUrl: good.mcpUrl });
    const signIn = async () => {
      const begun = await desk.signIns.begin("notes", "anonymous");
      await desk.signIns.pasted(begun.login, await good.authorize(begun.url));
    };
    await signIn();
    await desk.signIns.signOut("notes", "anonymous");
    good.resourceMetadata.authorization_servers = [evil.issuer];
    await expect(signIn()).rejects.toThrow(/--accept-issuer/);
    good.resourceMetadata.authorization_servers = [`${good.issuer}`];
    await signIn();
  });
});

describe("stored tokens", () => {
  test("of a server that had the same name go to no other server", async () => {
    const { good, evil } = await twoIssuers();
    const folder = state();
    const vault = await vaultIn(folder);
    evil.accessTokens.set("access-1", "read");
    await vault.write(
      credential({
        server: "notes",
        principal: "anonymous",
        issuer: good.issuer,
        resource: good.mcpUrl,
        tokens: { accessToken: "access-1", obtainedAt: 0 },
      }),
    );
    const gateway = await gatewayAt(folder, { notes: { url: evil.mcpUrl } });
    await gateway.call();
    expect(evil.seen.map(({ headers }) => headers.authorization).filter(Boolean)).toEqual([]);
  });

  test("of a server that had the same name are deleted without an assertion of the key of the config", async () => {
    const { good, evil } = await twoIssuers();
    const folder = state();
    const about = { issuer: evil.issuer, tokenEndpoint: `${evil.issuer}/token`, resource: evil.mcpUrl };
    const client = { clientId: "c", tokenEndpointAuthMethod: "private_key_jwt", source: "config" } as const;
    const vault = await vaultIn(folder);
    await vault.write(
      credential({
        ...{ server: "notes", principal: "service", ...about, client },
        revocationEndpoint: `${evil.issuer}/revoke`,
      }),
    );
    const commands = commandsAt(folder, MACHINES.private_key_jwt, good.mcpUrl);
    expect(await commands.signOut("notes", "anonymous")).toMatchObject({
      wasSignedIn: true,
      isRevoked: false,
    });
    expect(await vault.read("notes", "service")).toBeUndefined();
    expect(secretRequests(evil)).toEqual([]);
  });

  test("are not refreshed at an issuer that the config no longer names", async () => {
    const { good, evil } = await twoIssuers();
    const folder = state();
    const vault = await vaultIn(folder);
    const tokens = { accessToken: "old", refreshToken: "refresh", obtainedAt: 0, expiresAt: 1 };
    const about = { issuer: evil.issuer, tokenEndpoint: `${evil.issuer}/token`, resource: good.mcpUrl };
    await vault.write(credential({ server: "notes", principal: "anonymous", ...about, tokens }));
    const gateway = await gatewayAt(folder, { notes: { url: good.mcpUrl, auth: { issuer: good.issuer } } });
    expect((await gateway.call()).content[0]?.text).toMatch(/sign-in/);
    expect(secretRequests(evil)).toEqual([]);
  });
});

test("a client that the issuer rejects is an error that names its key, or its secret", async () => {
  for (const [auth, keys] of [
    [MACHINES.private_key_jwt, "clientId, privateKey and keyId"],
    [MACHINES.client_credentials, "clientId and clientSecret"],
  ] as const) {
    const { good } = await twoIssuers();
    good.set("token", oauthError("invalid_client", "unknown", 401));
    const gateway = await gatewayAt(state(), { notes: { url: good.mcpUrl, auth } });
    expect((await gateway.call()).content[0]?.text).toContain(`correct ${keys} of its auth`);
  }
});

test("a metadata address that the gateway refuses is reported as refused, with the reason", async () => {
  const { good } = await twoIssuers();
  for (const step of ["prm-path", "prm-root"] as const) good.set(step, missing);
  const desk = await startDesk({ mcpUrl: good.mcpUrl });
  for (const [address, reason] of [
    ["https://10.0.0.7/metadata", "10.0.0.7"],
    ["http://login.example.com/metadata", "is not https:"],
    ["file:///etc/passwd", "is not https:"],
  ] as const) {
    good.challenge = { resource_metadata: address };
    const message = await desk.signIns.begin("notes", "ann").then(String, (error: Error) => error.message);
    expect(message).toContain("the gateway refused that address");
    expect(message).toContain(reason);
    expect(message).not.toContain("there is none");
  }
});

test("one sign-in for all principals needs no --as, also where the gateway has principals", () => {
  const digest = "a".repeat(64);
  const config = configOf({
    auth: { keys: [{ id: "ann", hash: `sha256:${digest}` }] },
    mcpServers: {
      notes: { url: "https://notes.example/mcp", auth: { as: "shared" } },
      own: { url: "https://own.example/mcp" },
      bot: { url: "https://bot.example/mcp", auth: MACHINES.client_credentials },
    },
  });
  for (const name of ["notes", "bot"]) expect(principalOf(name, {}, { env: {} }, config)).toBe("anonymous");
  expect(() => principalOf("own", {}, { env: {} }, config)).toThrow(/--as ID/);
});
