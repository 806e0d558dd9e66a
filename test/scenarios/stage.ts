/** The whole gateway in the process of the test, in front of scripted servers, with every door open to hosts. */
import { createHash } from "node:crypto";
import { PassThrough } from "node:stream";
import { configOf, gatewayOf, listening } from "../support/gateway.js";
import type { Wire } from "../support/host/host.mjs";
import { sseWire } from "../support/host/socket-wires.mjs";
import { httpWire, pipeWire } from "../support/host/wires.mjs";
import { type Scripted, startUpstream, type UpstreamKind } from "../support/scripted/upstreams.js";
import { EXPOSURE } from "../support/through.js";

/** Principals of HTTP hosts; a host on a pipe is the anonymous one. */
export type Person = "ada" | "eve";

export interface StageSettings {
  /** How long a call waits for its answers, such as `300ms`. */
  readonly answerTimeout?: string;
  /** What legacy servers answer `initialize` with; default: whatever they are offered. */
  readonly revision?: string;
  /** More of the config, beside the servers. */
  readonly config?: object;
  /** More of each server's entry. */
  readonly server?: object;
  /** Opens before its servers were met; those on a pipe begin when this file is there. */
  readonly startsWith?: string;
  /** Stands in front of the very servers of another stage, which ends them. */
  readonly behind?: Stage;
}

export type Door = "http" | "stdio" | "sse";

export interface Stage {
  /** A new way in; each is a connection of its own. */
  enter(door: Door, person?: Person): Promise<Wire>;
  upstream(kind: UpstreamKind): Scripted;
  /** A page of the status API. */
  status(page: string): Promise<unknown>;
  /** The sum of a metric over all its labels. */
  metric(name: string): Promise<number>;
  /** Applies a config with more in each server's entry. */
  reload(server: object): Promise<void>;
  /** At once, unless `drains`. */
  close(how?: { readonly drains: boolean }): Promise<void>;
  /** Whether closing has cut off calls. */
  hasCutOff(): boolean;
}

const secretOf = (person: Person): string => `key-of-${person}-and-of-nobody-else`;
const keyOf = (id: Person) => ({
  id,
  hash: `sha256:${createHash("sha256").update(secretOf(id)).digest("hex")}`,
});

/** The same entry, whose process begins when `file` is there. */
function held(entry: object, file: string | undefined): object {
  if (file === undefined || !("command" in entry) || !("args" in entry)) return entry;
  const wait = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"';
  return { command: "sh", args: ["-c", wait, file, entry.command, ...(entry.args as string[])] };
}

export async function openStage(
  kinds: readonly UpstreamKind[],
  { answerTimeout = "10m", revision, config = {}, server = {}, startsWith, behind }: StageSettings = {},
): Promise<Stage> {
  const upstreams = new Map<string, Scripted>();
  for (const kind of kinds) {
    upstreams.set(kind.key, behind?.upstream(kind) ?? (await startUpstream(kind, revision)));
  }
  const configWith = (more: object): object => ({
    listen: { http: { port: 0, legacySse: true }, admin: { port: 0 } },
    auth: { keys: [keyOf("ada"), keyOf("eve")] },
    parkedCalls: { answerTimeout },
    // The list below waits for every server, however busy the machine is.
    ...(startsWith === undefined && { startupWait: "10m" }),
    mcpServers: Object.fromEntries(
      [...upstreams].map(([key, { entry }]) => [key, { ...held(entry, startsWith), ...server, ...more }]),
    ),
    ...EXPOSURE,
    ...config,
  });
  const gateway = await gatewayOf(configWith({}));
  const { url, adminUrl } = await listening(gateway);
  if (startsWith === undefined) await gateway.lists("tools");
  const pipes: PassThrough[] = [];

  return {
    async enter(door, person = "ada") {
      if (door === "stdio") {
        const [input, output] = [new PassThrough(), new PassThrough()];
        pipes.push(input);
        void gateway.stdio(input, output);
        return pipeWire(input, output);
      }
      const headers = { authorization: `Bearer ${secretOf(person)}` };
      if (door === "http") return httpWire(url, headers);
      return sseWire(new URL("/sse", url).href, headers);
    },
    upstream(kind) {
      const found = upstreams.get(kind.key);
      if (found === undefined) throw new Error(`${kind.key} is not on this stage`);
      return found;
    },
    status: async (page) => (await fetch(`${adminUrl}/api/v1/${page}`)).json(),
    async metric(name) {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      const lines = text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    },
    reload: (more) => gateway.reload(configOf(configWith(more))),
    hasCutOff: () => gateway.hasCutOff(),
    async close({ drains } = { drains: false }) {
      if (!drains) for (const pipe of pipes) pipe.end();
      await gateway.stop({ immediate: !drains });
      if (behind !== undefined) return;
      await Promise.all([...upstreams.values()].map((upstream) => upstream.stop()));
    },
  };
}
