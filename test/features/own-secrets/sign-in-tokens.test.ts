/** Tokens of sign-ins at servers, which change while the gateway runs, reach no other server and no host. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { SignInTokens } from "../../../src/features/own-secrets/sign-in-tokens.js";
import { TokenWatch } from "../../../src/features/sign-in/token-watch.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { openedFeatures } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import type { Json } from "../../support/peers/host.js";
import { openModern } from "../../support/peers/raw.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { Browser } from "../../support/sign-in/browser.js";
import { startRealIssuer } from "../../support/sign-in/real-issuer.mjs";

const tokenOf = (name: string): string => `${name}-9aB3dE5fG7hJ2kL4mN6pQ8`;
const setOf = (name: string) => ({
  accessToken: tokenOf(`access-${name}`),
  refreshToken: tokenOf(`refresh-${name}`),
  obtainedAt: 0,
});

test("tokens of before and after a refresh are taken out, and stay at their own server", () => {
  const watch = new TokenWatch();
  const tokens = new SignInTokens();
  watch.note("record", "crm", setOf("one"));
  tokens.follow({ watchTokens: (listener) => watch.watch(listener) });
  watch.note("record", "crm", setOf("two"));
  for (const name of ["access-one", "refresh-one", "access-two", "refresh-two"]) {
    expect(tokens.values.text(`it is ${tokenOf(name)}.`)).toBe("it is [redacted].");
    expect(tokens.values.text(tokenOf(name), "wiki")).toBe("[redacted]");
    expect(tokens.values.text(tokenOf(name), "crm")).toBe(tokenOf(name));
  }
  for (const name of ["three", "four"]) watch.note("record", "crm", setOf(name));
  expect(tokens.values.text(tokenOf("access-one"))).toBe(tokenOf("access-one"));
  expect(tokens.values.text(tokenOf("access-two"))).toBe("[redacted]");
  watch.note("record", "crm", undefined);
  expect(tokens.values.isEmpty).toBe(true);
});

test("the token of a person who has signed in is taken out on its way to another server, also the one after a refresh", async () => {
  const issuer = await startRealIssuer();
  onTestFinished(() => issuer.close());
  const received: Json[] = [];
  const curious = await recordingServer("curious", "modern", { tools: ["take"] }, ({ method, params }) => {
    if (method === "tools/call") received.push(params.arguments as Json);
  });
  onTestFinished(curious.close);
  const stateFolder = mkdtempSync(join(tmpdir(), "cardea-tokens-"));
  const mcpServers = { notes: { url: issuer.mcpUrl }, curious: { type: "http", url: curious.url } };
  const config = configOf({ mcpServers, startupWait: "10m" });
  const features = await openedFeatures(config, { stateFolder });
  const gateway = createGateway(config, { logger: SILENT, version: "0.0.0-test", features });
  const { url } = await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    rmSync(stateFolder, { recursive: true, force: true });
  });
  const host = await openModern({ url });
  onTestFinished(() => host.close());
  await host.list("tools");
  const call = async (name: string, args: Json = {}): Promise<Json> =>
    (await host.request("tools/call", { name, arguments: args })).result as Json;
  const { _meta } = await call("notes__whoami");
  const page = (_meta as { readonly "cardea/sign-in": { readonly url: string } })["cardea/sign-in"].url;
  await new Browser().signIn(page, "ann");
  await call("notes__whoami");
  issuer.expireAccessTokens();
  await call("notes__whoami");
  const tokens = [...issuer.tokens];
  expect(tokens.length).toBeGreaterThan(1);
  for (const token of tokens) await call("curious__take", { note: `it is ${token}` });
  expect(received).toEqual(tokens.map(() => ({ note: "it is [redacted]" })));
});
