/** Probes a server with one connection attempt: its lists or its error, and its output. For `cardea doctor`. */
import { serverNamespace, visibleItems } from "../catalog/server-namespace.js";
import type { ServerConfig } from "../config/config.js";
import type { CredentialStore } from "../core/credentials.js";
import type { GatewayError } from "../core/errors.js";
import type { MalformedEntry } from "../core/list-entries.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import type { StartLayer } from "../core/process-start.js";
import { withTimeout } from "../core/stop.js";
import type { ServerList } from "../core/upstream.js";
import type { ChannelKinds } from "../upstream/supervision/channel-kind.js";
import type { Channel } from "../upstream/transport/channel.js";
import { openStdioChannel } from "../upstream/transport/stdio.js";
import { createUpstream, type StartableUpstream } from "../upstream/upstream.js";
import { type JsonObject, stringAt } from "../wire/json.js";

/** The result of the probe. */
export interface ProbeResult {
  /** Absent if the connection or a list failed. */
  readonly connected?: {
    readonly serverInfo: JsonObject;
    /** The number of its tools. */
    readonly tools: number;
    /** The number after the filters of the config; absent if equal. */
    readonly shownTools?: number;
    /** Own names of its tools and prompts. */
    readonly names: Readonly<Record<"tools" | "prompts", readonly string[]>>;
    /** The entries of its lists; absent if a list could not be read. */
    readonly lists?: Readonly<Record<ListKind, readonly JsonObject[]>>;
    /** Entries of its lists that hosts cannot read. */
    readonly malformed: readonly MalformedEntry[];
    /** True if a second process ended the first, or did not start beside it: all hosts must share one. */
    readonly isRival?: boolean;
  };
  /** Why the connection or the list failed. */
  readonly error?: unknown;
  /** What features have found; absent without any. */
  readonly notes?: readonly ProbeNote[];
  /** The last lines of its stderr. */
  readonly stderr: readonly string[];
  /** The first characters of stdout lines that were not messages. */
  readonly nonProtocolOutput: readonly string[];
}

/** What a feature has found out about a server. `safe` takes secrets and hidden characters out of a text. */
export interface ProbeNote {
  /** The member of the report that is `value`. */
  readonly key: string;
  value(safe: (text: string) => string): unknown;
  /** The lines that say it. */
  lines(safe: (text: string) => string): readonly ProbeNoteLine[];
  /** Whether they come after what the server has written. */
  readonly isLast: boolean;
}

/** One line; a bad one says what is wrong. */
export interface ProbeNoteLine {
  readonly text: string;
  readonly isBad?: boolean;
}

/** Options of a probe. */
export interface ProbeOptions {
  readonly gateway: { readonly name: string; readonly version: string };
  readonly signal: AbortSignal;
  /** Those of features. Default: none. */
  readonly channels?: ChannelKinds;
  /** Change the starts of processes. Default: none. */
  readonly startLayers?: readonly StartLayer[];
  /** For a server behind a login. Default: none. */
  readonly credentials?: CredentialStore | undefined;
}

const MAX_LINES = 200;

/** Connects to a server once and closes the connection. Never rejects: an error is part of the result. */
export async function probeServer(server: ServerConfig, options: ProbeOptions): Promise<ProbeResult> {
  const { signal } = options;
  const { name, transport } = server;
  const output = { stderr: [] as string[], nonProtocolOutput: [] as string[] };
  const upstream = upstreamOf(
    server,
    options,
    transport.kind === "stdio"
      ? () => openWithOutput(server, transport, output, options.startLayers)
      : undefined,
  );
  try {
    const failure = await firstAttempt(upstream, signal);
    if (failure !== undefined) return { error: failure, ...output };
    const connected = await contentOf(upstream, server, signal);
    // The output of the copy is not shown.
    const copy =
      transport.kind === "stdio" && server.lease !== "shared"
        ? upstreamOf(server, options, () =>
            openStdioChannel({
              name,
              features: server.features,
              startLayers: options.startLayers,
              ...transport,
            }),
          )
        : undefined;
    const isRival = copy !== undefined && (await areRivals(upstream, copy, signal));
    return { connected: { ...connected, ...(isRival && { isRival }) }, ...output };
  } catch (error) {
    return { error, ...output };
  } finally {
    await upstream.close();
  }
}

function upstreamOf(
  server: ServerConfig,
  { gateway, channels, credentials }: ProbeOptions,
  openChannel: (() => Promise<Channel>) | undefined,
): StartableUpstream {
  // A process that the gateway ended as idle would look like one that a copy has ended.
  return createUpstream(
    { ...server, start: "eager" },
    {
      gateway: { info: gateway },
      credentials,
      // There is no client to send a question to.
      questions: { directory: { find: () => undefined } },
      lifecycle: { openChannel, channels },
    },
  );
}

/** Starts the process; its last lines are kept. */
function openWithOutput(
  { name, features }: ServerConfig,
  transport: Extract<ServerConfig["transport"], { kind: "stdio" }>,
  { stderr, nonProtocolOutput }: Readonly<Record<"stderr" | "nonProtocolOutput", string[]>>,
  startLayers: readonly StartLayer[] | undefined,
): Promise<Channel> {
  const keep = (list: string[]) => (line: string) => {
    list.push(line);
    if (list.length > MAX_LINES) list.shift();
  };
  // A server may be started twice, once per era; the output of the last process counts.
  stderr.length = 0;
  nonProtocolOutput.length = 0;
  return openStdioChannel({
    name,
    features,
    startLayers,
    ...transport,
    onStderr: keep(stderr),
    onNonProtocolOutput: keep(nonProtocolOutput),
  });
}

/** What it lists. @throws if its tools cannot be listed */
async function contentOf(
  upstream: StartableUpstream,
  server: ServerConfig,
  signal: AbortSignal,
): Promise<NonNullable<ProbeResult["connected"]>> {
  const tools = await upstream.list("tools", undefined, signal);
  // Hosts can use a server even if other lists fail.
  const [prompts, ...others] = await Promise.all(
    LIST_KINDS.slice(1).map((kind) => upstream.list(kind, undefined, signal).catch(() => undefined)),
  );
  const malformed = [tools, prompts, ...others].flatMap((list) => list?.malformed ?? []);
  const [resources, resourceTemplates] = others;
  const lists =
    prompts === undefined || resources === undefined || resourceTemplates === undefined
      ? undefined
      : {
          tools: tools.items,
          prompts: prompts.items,
          resources: resources.items,
          resourceTemplates: resourceTemplates.items,
        };
  return {
    serverInfo: upstream.facts?.serverInfo ?? {},
    tools: tools.items.length,
    shownTools: visibleItems(serverNamespace(server), "tools", tools.items).length,
    names: { tools: namesIn(tools), prompts: namesIn(prompts) },
    ...(lists !== undefined && { lists }),
    malformed,
  };
}

const namesIn = (list: ServerList | undefined): readonly string[] =>
  (list?.items ?? []).flatMap((item) => stringAt(item, "name") ?? []);

/** How long (ms) a process may take to exit after a second one ended it. */
const RIVAL_END_MS = 500;

/** Whether only one process of the server can run. Starts `copy` beside `running`, and closes it. */
async function areRivals(
  running: StartableUpstream,
  copy: StartableUpstream,
  signal: AbortSignal,
): Promise<boolean> {
  const ended = new Promise<true>((resolve) => {
    running.watch({ unavailable: () => resolve(true) });
  });
  try {
    const failure = await firstAttempt(copy, signal);
    return failure !== undefined || (await withTimeout(RIVAL_END_MS, ended)) === true;
  } finally {
    await copy.close();
  }
}

/** Starts the server and resolves to `undefined` once it is connected, otherwise to the error of the first attempt. */
function firstAttempt(upstream: StartableUpstream, signal: AbortSignal): Promise<GatewayError | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error("it was interrupted"));
    const done = (outcome: GatewayError | undefined): void => {
      unwatch();
      signal.removeEventListener("abort", stop);
      resolve(outcome);
    };
    const unwatch = upstream.watch({
      ready: () => done(undefined),
      unavailable: done,
    });
    signal.addEventListener("abort", stop, { once: true });
    upstream.start();
  });
}
