/** A server of which only one process can run is recognised by how its processes end. */
import { expect, onTestFinished, test } from "vitest";
import type { ServerConfig } from "../../src/config/config.js";
import { GatewayError } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import { type FakeServer, legacyServer } from "../support/fake-channel.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { calling, client, upstreamFor } from "../support/met-upstream.js";

fakeTime();

const asking = () => client({ session: true, capabilities: { elicitation: {} } });

/** The upstream, a call to it whose outcome is of no interest, and the warnings that name the remedy. */
function observed(server: FakeServer, config: Partial<ServerConfig> = {}) {
  const warnings: string[] = [];
  const log = {
    ...SILENT,
    warn: (_facts: object, sentence = "") => void (sentence.includes("lease") && warnings.push(sentence)),
  };
  const { upstream } = upstreamFor(server, config, { log });
  onTestFinished(() => upstream.close());
  const call = async (from = asking()): Promise<void> => {
    await upstream.call(calling({ client: from }).call).catch((error: unknown) => {
      if (!(error instanceof GatewayError)) throw error;
    });
    await settle();
  };
  upstream.start();
  return { upstream, warnings, call };
}

/** Each process that starts ends those that run. */
function jealous(): FakeServer {
  const server = legacyServer().on("tools/call", { content: [] });
  const greet = server.methods.get("initialize");
  return server.on("initialize", (params, asked) => {
    for (const other of server.channels) if (other !== asked.channel && !other.isGone) other.end();
    return greet?.(params, asked) ?? {};
  });
}

test("one whose new process ends the running one, twice: the warning names the key, once", async () => {
  const { warnings, call } = observed(jealous());
  await pass(10_000);
  for (let host = 0; host < 4; host += 1) {
    await call();
    await pass(10_000);
  }
  expect(warnings).toEqual([expect.stringContaining('set mcpServers.files.lease to "shared"')]);
});

test("one whose second process ends itself while the first lives, twice", async () => {
  const server = legacyServer().on("tools/call", { content: [] });
  const { warnings, call } = observed(server);
  await settle();
  server.refusal = new GatewayError("upstream_closed", "upstream", "EADDRINUSE: port 3000");
  const host = asking();
  await call(host);
  expect(warnings).toEqual([]);
  await pass(10_000);
  await call(host);
  expect(warnings).toHaveLength(1);
});

test("processes that run side by side, and crash later, are no rivals", async () => {
  const server = legacyServer().on("tools/call", { content: [] });
  const { warnings, call } = observed(server);
  const hosts = [asking(), asking()];
  for (let round = 0; round < 4; round += 1) {
    for (const host of hosts) await call(host);
    await pass(20_000);
    server.channel.end();
    await pass(20_000);
  }
  expect(warnings).toEqual([]);
});

test("one that all hosts share has one process, whose crashes are no evidence", async () => {
  const server = legacyServer().on("tools/call", { content: [] });
  const { warnings, call } = observed(server, { lease: "shared" });
  for (let round = 0; round < 4; round += 1) {
    await call();
    server.channel.end();
    await pass(60_000);
  }
  expect(warnings).toEqual([]);
});
