/** The connection to the shared store, Redis or Valkey: a deadline per command, and each outage reported once. */
import { createHash } from "node:crypto";
import type { RedisClientOptions, RedisClientType } from "@redis/client";
import { MAX_PEM_BYTES, readTextFileSync } from "../../config/text-file.js";
import { inBackground, type Logger } from "../../core/logger.js";
import {
  type OwnStore,
  type StoreRecipe,
  type StoreScript,
  StoreUnavailable,
} from "../../core/shared-store.js";
import type { CertificateFiles, StoreConfig } from "./config.js";

/** Options of the store. */
export interface StoreOptions {
  readonly config: StoreConfig;
  readonly logger: Logger;
  /** Deadline of a command, in ms. Default 250. */
  readonly deadlineMs?: number;
  /** Reconnect interval, in ms. Default 500. */
  readonly probeMs?: number;
  /** Idle timeout (ms) after which a connection is closed. Default 9 s. */
  readonly silenceMs?: number;
  /** Called with each finished command. */
  readonly onUse?: (use: StoreUse) => void;
}

/** A finished command. */
interface StoreUse {
  /** The command, or the name of the script. */
  readonly what: string;
  readonly ms: number;
  readonly outcome: "ok" | "failed";
}

/** The store connection of this process. */
export interface OpenStore extends OwnStore {
  /** A raw command, without the prefix: for checks. */
  command(words: readonly string[]): Promise<unknown>;
}

const DEADLINE_MS = 250;
const PROBE_MS = 500;
const CONNECT_TIMEOUT_MS = 1_000;
const MAX_BACKOFF_MS = 2_000;
/** A connection that is silent for this time (ms), although it is pinged every third of it, is dead. */
const SILENCE_MS = 9_000;

/**
 * Connects in the background, without a limit of attempts: an unavailable store is an outage, never an error of the
 * start. A command that misses its deadline marks the store as unavailable; commands then reject immediately until it
 * responds again.
 *
 * @throws Error if `@redis/client` is not installed, or a certificate cannot be read
 */
export async function openStore(options: StoreOptions): Promise<OpenStore> {
  const { createClient } = await loadClient();
  return new RedisStore(
    options,
    () => createClient(clientOptions(options.config, options.silenceMs)) as unknown as RedisClientType,
  );
}

async function loadClient(): Promise<typeof import("@redis/client")> {
  try {
    return await import("@redis/client");
  } catch (cause) {
    throw new Error(
      '"cluster.store" needs the package @redis/client: install Cardea with its optional packages',
      {
        cause,
      },
    );
  }
}

/** The types of the client omit that `undefined` switches its timeout off. */
const NO_TIMEOUT: object = { timeout: undefined };

function clientOptions(
  { url, username, password, tls }: StoreConfig,
  silenceMs = SILENCE_MS,
): RedisClientOptions {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: silenceMs,
    reconnectStrategy: (retries: number) => Math.min(MAX_BACKOFF_MS, 50 * 2 ** Math.min(retries, 10)),
  };
  const path = url.startsWith("unix://") ? url.slice("unix://".length) : undefined;
  return {
    ...(path === undefined && { url }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    name: "cardea",
    // Commands have a deadline of their own; that of the client costs ten times a command.
    commandOptions: NO_TIMEOUT,
    disableOfflineQueue: true,
    pingInterval: silenceMs / 3,
    socket:
      path !== undefined
        ? { path, ...common }
        : tls !== undefined
          ? { tls: true, ...mapValues(tls, (file) => readTextFileSync(file, MAX_PEM_BYTES)), ...common }
          : common,
  };
}

type Listener = (message: string) => void;

/** Opens the same store in another process. */
const OPENER = new URL("./store-opener.js", import.meta.url).href;

class RedisStore implements OpenStore {
  readonly recipe: StoreRecipe;
  readonly #client: RedisClientType;
  /** Created with the first subscription: a subscribed connection cannot run commands. */
  #subscriber: RedisClientType | undefined;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Channels that were subscribed before: messages during the disconnection are lost. */
  readonly #subscribed = new Set<string>();
  readonly #watchers = new Set<(isUp: boolean) => void>();
  readonly #digests = new WeakMap<StoreScript, string>();
  #isUp = false;
  /** Whether an outage was reported, or the first connection. */
  #hasReported = false;
  #probe: NodeJS.Timeout | undefined;
  /** Whether a ping of `#tryAgain` is pending. */
  #isTrying = false;
  #isClosed = false;

  constructor(
    private readonly options: StoreOptions,
    private readonly makeClient: () => RedisClientType,
  ) {
    this.recipe = { module: OPENER, settings: options.config };
    this.#client = this.#connected();
    this.#client.on("ready", () => this.#setUp(true));
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  async get(key: string): Promise<string | undefined> {
    const value = await this.#use("GET", () => this.#client.get(this.#key(key)));
    return value === null ? undefined : String(value);
  }

  async set(key: string, value: string, ttlMs: number): Promise<void> {
    await this.#use("SET", () => this.#client.set(this.#key(key), value, { PX: wholeMs(ttlMs) }));
  }

  async setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean> {
    const options = { condition: "NX", expiration: { type: "PX", value: wholeMs(ttlMs) } } as const;
    return (await this.#use("SET", () => this.#client.set(this.#key(key), value, options))) !== null;
  }

  async delete(key: string): Promise<void> {
    await this.#use("DEL", () => this.#client.del(this.#key(key)));
  }

  run(script: StoreScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const given = { keys: keys.map((key) => this.#key(key)), arguments: [...args] };
    return this.#use(script.name, async () => {
      try {
        return await this.#client.evalSha(this.#digestOf(script), given);
      } catch (error) {
        // The store was restarted, or is another one.
        if (error instanceof Error && error.message.startsWith("NOSCRIPT"))
          return this.#client.eval(script.text, given);
        throw error;
      }
    });
  }

  command(words: readonly string[]): Promise<unknown> {
    return this.#use(words[0] ?? "", () => this.#client.sendCommand([...words]));
  }

  publish(channel: string, message: string): void {
    // A hint; a replica that misses it notices later.
    this.#use("PUBLISH", () => this.#client.publish(this.#key(channel), message)).catch(() => {});
  }

  subscribe(channel: string, listener: Listener): () => void {
    const name = this.#key(channel);
    const listeners = this.#listeners.get(name) ?? new Set();
    listeners.add(listener);
    if (listeners.size === 1) {
      this.#listeners.set(name, listeners);
      this.#subscriber ??= this.#connected(() => this.#subscribeAll());
      if (this.#subscriber.isReady) this.#subscribeTo(name);
    }
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#listeners.delete(name);
      this.#subscribed.delete(name);
      if (this.#subscriber?.isReady === true) this.#subscriber.unsubscribe(name).catch(() => {});
    };
  }

  onChange(listener: (isUp: boolean) => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#probe);
    for (const client of [this.#client, this.#subscriber]) client?.destroy();
    await Promise.resolve();
  }

  /** A client that connects in the background; errors are outages and are reported as such. */
  #connected(onReady?: () => void): RedisClientType {
    const client = this.makeClient();
    client.on("error", (error: Error) => {
      if (client === this.#client) this.#setUp(false, error);
    });
    if (onReady !== undefined) client.on("ready", onReady);
    // It rejects only if it is closed in between.
    client.connect().catch((error: unknown) => {
      if (!this.#isClosed)
        this.options.logger.error({ error }, "the connection to the cluster's store was closed");
    });
    return client;
  }

  #subscribeAll(): void {
    for (const name of this.#listeners.keys()) this.#subscribeTo(name);
  }

  #subscribeTo(name: string): void {
    const pass = (message: string): void => {
      for (const listener of this.#listeners.get(name) ?? []) listener(message);
    };
    const subscriber = this.#subscriber;
    if (subscriber === undefined) return;
    // The client resubscribes after a reconnection by itself; subscribed twice, a channel would deliver each message
    // twice.
    const anew = subscriber.unsubscribe(name).then(() => subscriber.subscribe(name, pass));
    const wasSubscribed = this.#subscribed.has(name);
    this.#subscribed.add(name);
    const done = wasSubscribed ? anew.then(() => pass("")) : anew;
    done.catch((error: unknown) =>
      this.options.logger.debug({ error }, "a subscription at the store was lost"),
    );
  }

  async #use<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (!this.#isUp) throw new StoreUnavailable("the cluster's store cannot be reached");
    const start = performance.now();
    const { deadlineMs = DEADLINE_MS, onUse } = this.options;
    try {
      const result = await withDeadline(work(), deadlineMs);
      onUse?.({ what, ms: performance.now() - start, outcome: "ok" });
      return result;
    } catch (error) {
      onUse?.({ what, ms: performance.now() - start, outcome: "failed" });
      // An error response of the store counts as a response.
      if (isAnswer(error)) throw error;
      this.#setUp(false, error);
      throw new StoreUnavailable(`the cluster's store did not answer ${what}`, { cause: error });
    }
  }

  #setUp(isUp: boolean, error?: unknown): void {
    if (this.#isClosed || (this.#isUp === isUp && this.#hasReported)) return;
    const { logger, config } = this.options;
    this.#isUp = isUp;
    if (isUp) logger.info({}, "the cluster's store is connected");
    else
      logger.warn({ error, store: withoutCredentials(config.url) }, "the cluster's store cannot be reached");
    this.#hasReported = true;
    clearInterval(this.#probe);
    if (!isUp) {
      this.#probe = setInterval(() => this.#tryAgain(), this.options.probeMs ?? PROBE_MS);
      this.#probe.unref();
    }
    for (const watcher of this.#watchers) watcher(isUp);
  }

  /**
   * The connection may be open while the store is stopped, or half open; `ready` reports a new one. One ping at a time:
   * each write would restart the idle timeout of a silent connection.
   */
  #tryAgain(): void {
    if (!this.#client.isReady || this.#isTrying) return;
    this.#isTrying = true;
    const answered = this.#client.ping().then(
      () => this.#setUp(true),
      () => {},
    );
    const done = answered.finally(() => {
      this.#isTrying = false;
    });
    inBackground(done, this.options.logger, "trying the cluster's store");
  }

  #key(key: string): string {
    return `${this.options.config.prefix}:${key}`;
  }

  #digestOf(script: StoreScript): string {
    let digest = this.#digests.get(script);
    if (digest === undefined) {
      digest = createHash("sha1").update(script.text).digest("hex");
      this.#digests.set(script, digest);
    }
    return digest;
  }
}

/** An error response, as opposed to no response; a store that cannot serve says LOADING or similar. */
function isAnswer(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^[A-Z]+ /.test(error.message) &&
    !/^(?:LOADING|MASTERDOWN|READONLY|BUSY|NOREPLICAS) /.test(error.message)
  );
}

/**
 * A stall of this process is not the store's delay: its response may have arrived, so the deadline is extended once.
 */
async function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const start = performance.now();
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const lostMs = performance.now() - start - ms;
      timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), Math.min(lostMs, ms));
    }, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // Its response may still arrive and is dropped.
    work.catch(() => {});
  }
}

const mapValues = <T>(files: CertificateFiles, read: (file: string) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(files).map(([name, file]) => [name, read(file)]));

const wholeMs = (ms: number): number => Math.max(1, Math.round(ms));

const withoutCredentials = (url: string): string => url.replace(/\/\/[^@/]*@/, "//");
