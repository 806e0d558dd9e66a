/** The whole gateway in front of recording servers, with hosts of both eras over HTTP and on pipes. */
import { createHash } from "node:crypto";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { Gateway } from "../../src/gateway/gateway.js";
import { gatewayOf, listening } from "./gateway.js";
import { httpWire, pipeWire } from "./host/wires.mjs";
import { openLegacy, openModern, type RawHost, type RawOptions } from "./peers/raw.js";
import { type Offered, type Received, recordingServer } from "./servers/recording-server.js";
import { EXPOSURE, THROUGH_CALL_TOOL } from "./through.js";

/** Who may come in over HTTP, by key; on a pipe comes `ann`. */
const KEYS = { ann: `crd_${"a".repeat(43)}`, bob: `crd_${"b".repeat(43)}` } as const;
export type Person = keyof typeof KEYS;

export interface HostKind {
  readonly era: "legacy" | "modern";
  readonly door: "http" | "stdio";
}

/** Every host there is: both eras, both transports. */
export const HOSTS: readonly HostKind[] = (["legacy", "modern"] as const).flatMap((era) =>
  (["http", "stdio"] as const).map((door) => ({ era, door })),
);

/** What a server offers, and answers to requests that are no lists. */
export interface Server extends Partial<Offered> {
  /** More of its entry in the config. */
  readonly entry?: object;
  readonly era?: "legacy" | "modern";
  /** Receives what reaches it; its answer waits for the result. */
  readonly heard?: () => Promise<void>;
  readonly answer?: (received: Received) => Readonly<Record<string, unknown>> | undefined;
}

const OPTIONS = { throughCallTool: THROUGH_CALL_TOOL };

export interface Running {
  readonly gateway: Gateway;
  readonly url: string;
  readonly adminUrl: string;
  /** What reached servers, except introductions and lists of the base protocol; with `asked` also those. */
  readonly received: readonly Received[];
  host(kind: HostKind, person?: Person, path?: string, options?: RawOptions): Promise<RawHost>;
  /** A bare request, for what no host would send. */
  fetch(path: string, init: RequestInit, person?: Person): Promise<Response>;
}

/** Ends when the test does, or with what `ends` does; `entries` are further servers, as a config has them. */
export async function openGateway(
  servers: Readonly<Record<string, Server>>,
  config: object = {},
  entries: Readonly<Record<string, object>> = {},
  ends: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Running> {
  const received: Received[] = [];
  const running = await Promise.all(
    Object.entries(servers).map(async ([name, { era = "modern", answer, heard, entry = {}, ...offered }]) => {
      const keep = (it: Received): Promise<void> | undefined => {
        received.push(it);
        return heard?.();
      };
      const server = await recordingServer(name, era, offered, keep, answer);
      return [name, server, entry] as const;
    }),
  );
  const hash = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const written = {
    auth: { keys: Object.entries(KEYS).map(([id, key]) => ({ id, hash: hash(key) })) },
    mcpServers: {
      ...Object.fromEntries(
        running.map(([name, { url }, entry]) => [name, { type: "http", url, ...entry }] as const),
      ),
      ...entries,
    },
    // The list below waits for every server, however busy the machine is.
    startupWait: "10m",
    ...EXPOSURE,
    ...config,
  };
  const gateway = await gatewayOf(written);
  const { url, adminUrl } = await listening(gateway);
  await gateway.lists("tools");
  const pipes: PassThrough[] = [];
  ends(async () => {
    for (const pipe of pipes) pipe.end();
    await gateway.stop({ immediate: true });
    await Promise.all(running.map(([, server]) => server.close()));
  });
  const headersOf = (person: Person) => ({ authorization: `Bearer ${KEYS[person]}` });
  return {
    gateway,
    url,
    adminUrl,
    received,
    host({ era, door }, person = "ann", path = "", more = {}) {
      const options = { ...OPTIONS, ...more };
      const open = era === "legacy" ? openLegacy : openModern;
      if (door === "http") {
        return open(httpWire(`${url}${path}`, headersOf(person)), options);
      }
      const [input, output] = [new PassThrough(), new PassThrough()];
      pipes.push(input);
      void gateway.stdio(input, output, person);
      return open(pipeWire(input, output), options);
    },
    fetch: (path, init, person = "ann") =>
      fetch(new URL(path, url), { ...init, headers: { ...init.headers, ...headersOf(person) } }),
  };
}
