/** Scripted servers of every kind, each ready to stand in a config, with its ledger at hand. */
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startScripted } from "./http.mjs";
import type { LedgerEntry } from "./ledger.js";

const MAIN = fileURLToPath(new URL("stdio.mjs", import.meta.url));

export interface Scripted {
  /** Its entry under `mcpServers`. */
  readonly entry: object;
  /** Everything it has done, in order. */
  ledger(): readonly LedgerEntry[];
  /** Ends its streams of changes; a process has none of its own, so it ends. */
  hangUp(): void;
  /** Is gone in the middle of whatever it does: of a process, the one that has begun the call `label`. */
  vanish(label: string): Promise<void>;
  /** Leaves nothing behind. */
  stop(): Promise<void>;
}

export interface UpstreamKind {
  /** Its key in the config, and so the beginning of its tools' names. */
  readonly key: string;
  /** As it stands in the name of a test. */
  readonly name: string;
  readonly era: "legacy" | "modern";
  readonly transport: "http" | "stdio" | "sse";
}

export const UPSTREAMS: readonly UpstreamKind[] = [
  { key: "legacy-http", name: "a legacy server over HTTP", era: "legacy", transport: "http" },
  { key: "legacy-stdio", name: "a legacy server on a pipe", era: "legacy", transport: "stdio" },
  { key: "legacy-sse", name: "a legacy server over HTTP+SSE", era: "legacy", transport: "sse" },
  { key: "modern-http", name: "a modern server over HTTP", era: "modern", transport: "http" },
  { key: "modern-stdio", name: "a modern server on a pipe", era: "modern", transport: "stdio" },
];

/** `revision`: what a legacy server answers `initialize` with; default: whatever it is offered. */
export function startUpstream(kind: UpstreamKind, revision?: string): Promise<Scripted> {
  return kind.transport === "stdio" ? overPipe(kind, revision) : overHttp(kind, revision);
}

async function overHttp({ era, transport }: UpstreamKind, revision?: string): Promise<Scripted> {
  const served = transport === "sse" ? "sse" : era;
  const server = await startScripted(served, revision === undefined ? {} : { revision });
  return {
    entry: { type: transport === "sse" ? "sse" : "http", url: server.url },
    ledger: () => server.ledger(),
    hangUp: () => server.hangUp(),
    vanish: () => server.stop(),
    stop: () => server.stop(),
  };
}

async function overPipe({ era }: UpstreamKind, revision?: string): Promise<Scripted> {
  const folder = mkdtempSync(join(tmpdir(), "scripted-"));
  const file = join(folder, "ledger.jsonl");
  const args = [MAIN, era, file, ...(revision === undefined ? [] : [revision])];
  const ledger = (): readonly LedgerEntry[] =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as LedgerEntry)
      : [];
  const kill = (found: LedgerEntry | undefined): void => {
    if (found !== undefined) process.kill(found.pid, "SIGKILL");
  };
  return {
    entry: { command: process.execPath, args },
    ledger,
    hangUp: () => kill(ledger().at(-1)),
    vanish: async (label) => kill(ledger().find((entry) => entry.label === label)),
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}
