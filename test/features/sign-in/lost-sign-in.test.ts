/** The state of a server whose sign-in was lost: every page says needs_sign_in until the next sign-in. */
import "../admin/needed.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { openLocalSignIns, type SignInOperations } from "../../../src/features/sign-in/local-sign-ins.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { openedFeatures } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { type AdversarialServer, adversarialServer } from "../../support/sign-in/adversarial-server.js";

/** A gateway with one signed-in server, and the commands of an operator in another process. */
async function signedIn(more: object = {}, auth: object = {}) {
  const server = await adversarialServer();
  const folder = mkdtempSync(join(tmpdir(), "cardea-lost-"));
  const config = configOf({ mcpServers: { notes: { url: server.mcpUrl, auth, ...more } } });
  const gateway = createGateway(config, {
    logger: SILENT,
    version: "0.0.0-test",
    features: await openedFeatures(config, { stateFolder: folder }),
  });
  const { url, adminUrl } = await listening(gateway);
  const desk = openLocalSignIns({
    ...{ config, env: { CARDEA_STATE_DIR: folder }, gatewayUrl: url, logger: SILENT, store: undefined },
  });
  onTestFinished(async () => {
    await desk.close();
    await gateway.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const client = new Client({ name: "host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  const call = async () =>
    (await client.callTool({ name: "notes__whoami", arguments: {} }).catch(() => ({ isError: true }))) as {
      readonly isError?: boolean;
    };
  const get = async (path: string): Promise<string> => (await fetch(adminUrl + path)).text();
  const states = async () => {
    const [row] = JSON.parse(await get("/api/v1/servers")) as readonly { readonly state: string }[];
    const { reasons } = JSON.parse(await get("/readyz")) as { readonly reasons: readonly string[] };
    return {
      state: row?.state,
      up: /^cardea_upstream_up\{server="notes"\} (\d)/m.exec(await get("/metrics"))?.[1],
      reasons,
    };
  };
  await signIn(desk, server);
  await expect.poll(call).not.toMatchObject({ isError: true });
  await expect.poll(states).toEqual(READY);
  return { server, desk, call, states };
}

async function signIn(desk: SignInOperations, server: AdversarialServer): Promise<void> {
  const begun = await desk.begin("notes", "anonymous", { device: false, acceptsAudience: false });
  await desk.finish(begun.login, await server.authorize(begun.url));
}

const READY = { state: "ready", up: "1", reasons: [] };
const LOST = { state: "needs_sign_in", up: "0", reasons: ["server notes: needs_sign_in"] };

/** How a sign-in is lost; a call that was refused is how the gateway notices some of them. */
const WAYS: Readonly<
  Record<string, (server: AdversarialServer, desk: SignInOperations) => Promise<unknown> | undefined>
> = {
  "the operator signs out": (_, desk) => desk.signOut("notes", "anonymous"),
  "the grant was revoked": (server) => {
    server.accessTokens.clear();
    server.refreshTokens.clear();
    return undefined;
  },
  "the server rejects each new token": (server) => {
    server.accessTokens.clear();
    server.tokenAnswer.access_token = "never-good";
    return undefined;
  },
};

test.each(Object.keys(WAYS))(
  "is needs_sign_in on every page when %s, and ready after the next one",
  async (way) => {
    const { server, desk, call, states } = await signedIn();
    const noticed = WAYS[way]?.(server, desk);
    if (noticed === undefined) expect(await call()).toMatchObject({ isError: true });
    else await noticed;
    await expect.poll(states).toEqual(LOST);
    expect(await call()).toMatchObject({ isError: true });
    expect(await states()).toEqual(LOST);
    delete server.tokenAnswer.access_token;
    await signIn(desk, server);
    await expect.poll(states).toEqual(READY);
    expect(await call()).not.toMatchObject({ isError: true });
  },
);

test.each(["demand", "eager"])("is needs_sign_in for a server that starts on %s", async (start) => {
  const { desk, states } = await signedIn({ start });
  await desk.signOut("notes", "anonymous");
  await expect.poll(states).toEqual(LOST);
});

test("is needs_sign_in for a token without a successor that the server rejects", async () => {
  const { server, desk, call, states } = await signedIn();
  server.tokenAnswer.refresh_token = undefined;
  await signIn(desk, server);
  await expect.poll(call).not.toMatchObject({ isError: true });
  server.accessTokens.clear();
  expect(await call()).toMatchObject({ isError: true });
  await expect.poll(states).toEqual(LOST);
});

test("is needs_sign_in for one sign-in for all", async () => {
  const { desk, call, states } = await signedIn({}, { as: "shared" });
  await desk.signOut("notes", "anonymous");
  await expect.poll(states).toEqual(LOST);
  expect(await call()).toMatchObject({ isError: true });
});
