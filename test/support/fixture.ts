/** The conformance fixture as an upstream: over HTTP in the process of the test, or named as a command, with its ledger at hand. */
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inRepository } from "./cardea.js";
import { serveHttp } from "./fixture/http.mjs";
import { createWorld } from "./fixture/world.mjs";
import type { Json } from "./peers/host.js";

const MAIN = inRepository("test/support/fixture/server.mjs");

export type Era = "legacy" | "modern";
export type Transport = "stdio" | "http";

interface LedgerEntry {
  readonly event: string;
  readonly pid: number;
  readonly label?: string;
  readonly [key: string]: unknown;
}

export interface Fixture {
  /** Its entry under `mcpServers`. */
  readonly entry: Json;
  /** Everything its tools have written down, in order. */
  ledger(): readonly LedgerEntry[];
  stop(): Promise<void>;
}

/** The stdio command of a fixture; the caller owns the spawned process. */
export const fixtureCommand = (era: Era | "both", ledger?: string) => ({
  command: process.execPath,
  args: [MAIN, "--era", era, "--transport", "stdio", ...(ledger === undefined ? [] : ["--ledger", ledger])],
});

export async function startFixture(era: Era | "both", transport: Transport): Promise<Fixture> {
  const folder = mkdtempSync(join(tmpdir(), "fixture-"));
  const file = join(folder, "ledger.jsonl");
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const ledger = (): readonly LedgerEntry[] =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as LedgerEntry)
      : [];
  if (transport === "stdio") return { entry: fixtureCommand(era, file), ledger, stop: remove };

  const server = await serveHttp({ world: createWorld(file), era, port: 0 });
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    await remove();
  };
  const { port } = server.address() as AddressInfo;
  return { entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` }, ledger, stop };
}
