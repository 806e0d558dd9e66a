/** Starts or reaches one server once, and tells what was seen: for those who want to know what is wrong with it. */
import type { ServerConfig } from "./config/config.js";
import type { GatewayError } from "./core/errors.js";
import type { Malformed } from "./core/list-entries.js";
import type { ServerList } from "./core/upstream.js";
import { openStdioChannel } from "./upstream/transport/stdio.js";
import { createUpstream, type StartableUpstream } from "./upstream/upstream.js";
import { type JsonObject, stringAt } from "./wire/json.js";

export interface Examination {
  /** Absent when it could not be met, or could not list. */
  readonly met?: {
    readonly serverInfo: JsonObject;
    /** How many tools it lists. */
    readonly tools: number;
    /** Its own names of its tools and prompts. */
    readonly names: Readonly<Record<"tools" | "prompts", readonly string[]>>;
    /** Entries of its lists that hosts cannot read. */
    readonly malformed: readonly Malformed[];
  };
  /** Why it could not be met. */
  readonly error?: unknown;
  /** The last lines that its process wrote to stderr. */
  readonly stderr: readonly string[];
  /** The beginnings of lines on its stdout that were no messages. */
  readonly junk: readonly string[];
}

export interface ExamineOptions {
  readonly gateway: { readonly name: string; readonly version: string };
  readonly signal: AbortSignal;
}

const LINES = 50;

/** Never rejects: what went wrong is part of what was seen. Ends what it started. */
export async function examine(server: ServerConfig, options: ExamineOptions): Promise<Examination> {
  const { gateway, signal } = options;
  const { name, transport } = server;
  const stderr: string[] = [];
  const junk: string[] = [];
  const keep = (list: string[]) => (line: string) => {
    list.push(line);
    if (list.length > LINES) list.shift();
  };
  const upstream = createUpstream(server, {
    gateway,
    // Nobody is there to be asked.
    directory: { find: () => undefined },
    ...(transport.kind === "stdio" && {
      openChannel: () => {
        // A server may be started twice, to be spoken to in each way; what counts is how that ends.
        stderr.length = 0;
        junk.length = 0;
        return openStdioChannel({ name, ...transport, onStderr: keep(stderr), onJunk: keep(junk) });
      },
    }),
  });
  try {
    const failure = await firstOutcome(upstream, signal);
    if (failure !== undefined) return { error: failure, stderr, junk };
    const tools = await upstream.list("tools", undefined, signal);
    // A server whose other lists fail is none that hosts cannot use.
    const [prompts, ...others] = await Promise.all(
      OTHER_KINDS.map((kind) => upstream.list(kind, undefined, signal).catch(() => undefined)),
    );
    const malformed = [tools, prompts, ...others].flatMap((list) => list?.malformed ?? []);
    const names = { tools: namesIn(tools), prompts: namesIn(prompts) };
    const serverInfo = upstream.facts?.serverInfo ?? {};
    return { met: { serverInfo, tools: tools.items.length, names, malformed }, stderr, junk };
  } catch (error) {
    return { error, stderr, junk };
  } finally {
    await upstream.close();
  }
}

const OTHER_KINDS = ["prompts", "resources", "resourceTemplates"] as const;

const namesIn = (list: ServerList | undefined): readonly string[] =>
  (list?.items ?? []).flatMap((item) => stringAt(item, "name") ?? []);

/** Starts it; `undefined` when it was met, else why not. It is not tried a second time. */
function firstOutcome(upstream: StartableUpstream, signal: AbortSignal): Promise<GatewayError | undefined> {
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
      listChanged() {},
      resourceUpdated() {},
    });
    signal.addEventListener("abort", stop, { once: true });
    upstream.start();
  });
}
