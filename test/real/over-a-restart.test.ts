/** Hosts made of the official SDKs whose gateway is restarted: the same object calls again, in the same session. */

import "../features/admin/needed.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { MAIN, writeConfig } from "../support/cardea.js";
import { hasFeature } from "../support/features.js";
import { fixtureCommand, startFixture } from "../support/fixture.js";
import { type Started, start } from "../support/processes.js";
import { sample } from "../support/sample.js";
import { freePort } from "../support/told-port.js";

interface Host {
  readonly session: () => string | undefined;
  call(value: string): Promise<unknown>;
  close(): Promise<void>;
}

const INFO = { name: "restart-test", version: "1.0.0" };

async function sdk1(url: string): Promise<Host> {
  const client = new Client1(INFO);
  const transport = new StreamableHTTPClientTransport1(new URL(url));
  await client.connect(transport as Parameters<Client1["connect"]>[0]);
  return {
    session: () => transport.sessionId,
    call: (value) => client.callTool({ name: "one__echo", arguments: { value } }),
    close: () => client.close(),
  };
}

async function sdk2(url: string): Promise<Host> {
  const client = new Client(INFO, { versionNegotiation: { mode: "legacy" } });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return {
    session: () => transport.sessionId,
    call: (value) => client.callTool({ name: "one__echo", arguments: { value } }),
    close: () => client.close(),
  };
}

/** The gateway of one config and state folder, started again and again at one port. */
async function restartable(one: object, flags: readonly string[] = []) {
  const { file, remove } = writeConfig({ mcpServers: { one } });
  const state = mkdtempSync(join(tmpdir(), "restart-state-"));
  const port = await freePort();
  const args = ["serve", "--config", file, "--port", String(port), "--admin-port", "0", ...flags];
  let running: Started | undefined;
  onTestFinished(async () => {
    await running?.end();
    await remove();
    rmSync(state, { recursive: true, force: true });
  });
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async start() {
      const env = { ...process.env, CARDEA_STATE_DIR: state };
      running = start(process.execPath, [MAIN, ...args], { env });
      await running.says(/ready: /);
      return running;
    },
  };
}

const SDKS = [
  ["SDK 1.32", sdk1],
  ["SDK 2.4", sdk2],
] as const;

type Case = readonly [title: string, run: () => Promise<void>];

const afterASignal = SDKS.flatMap(([name, open]) =>
  (["SIGTERM", "SIGKILL"] as const).map(
    (signal): Case => [
      `a host of ${name} calls on in its session after its gateway ended by ${signal} and was started again`,
      async () => {
        const gateway = await restartable(fixtureCommand("legacy"));
        const first = await gateway.start();
        const host = await open(gateway.url);
        const { session } = host;
        const id = session();
        expect(JSON.stringify(await host.call("before"))).toContain("before");
        await first.stop(signal);
        await gateway.start();
        expect(JSON.stringify(await host.call("after"))).toContain("after");
        expect(session()).toBe(id);
        await host.close();
      },
    ],
  ),
);

const withWorkers: Case = [
  "with workers, and with another number of them, a host calls on in its session",
  async () => {
    const fixture = await startFixture("legacy", "http");
    onTestFinished(() => fixture.stop());
    const gateway = await restartable(fixture.entry, ["--workers", "2"]);
    const first = await gateway.start();
    const hosts = await Promise.all([1, 2, 3, 4].map(() => sdk1(gateway.url)));
    const said = async (value: string) =>
      (await Promise.all(hosts.map((host) => host.call(value)))).map((answer) => JSON.stringify(answer));
    for (const answer of await said("before")) expect(answer).toContain("before");
    await first.stop();
    await gateway.start();
    for (const answer of await said("after")) expect(answer).toContain("after");
    await Promise.all(hosts.map((host) => host.close()));
  },
];

test.each(sample("restarts", [...afterASignal, ...(hasFeature("workers") ? [withWorkers] : [])], 1))(
  "%s",
  (_title, run) => run(),
);
