/** The store of a cluster in memory, for tests: each replica has a view of its own, which can be cut off. */
import { type SharedStore, type StoreScript, StoreUnavailable } from "../../../src/core/shared-store.js";

/** What a script does, in TypeScript. The real ones are tested against a real Redis. */
export type ScriptInMemory = (
  memory: MemoryStore,
  keys: readonly string[],
  args: readonly string[],
) => unknown;

interface Entry {
  readonly value: string;
  /** By `Date.now()`, as that of a store is. */
  readonly until: number;
}

/** What all replicas see. */
export class MemoryStore {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  /** How often it was used, by the command or the name of the script. */
  readonly uses: string[] = [];

  constructor(private readonly scripts: Readonly<Record<string, ScriptInMemory>> = {}) {}

  get(key: string): string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.until > Date.now()) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: string, ttlMs: number): void {
    this.#entries.set(key, { value, until: Date.now() + ttlMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** All is lost, as by FLUSHALL. */
  flush(): void {
    this.#entries.clear();
  }

  /** The keys that hold now. */
  keys(): readonly string[] {
    return [...this.#entries.keys()].filter((key) => this.get(key) !== undefined);
  }

  runScript({ name }: StoreScript, keys: readonly string[], args: readonly string[]): unknown {
    const script = this.scripts[name];
    if (script === undefined) throw new Error(`no script ${name} in memory`);
    return script(this, keys, args);
  }

  publish(channel: string, message: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(message);
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** What one replica sees of it. */
  view(): StoreView {
    return new StoreView(this);
  }
}

/** One replica's connection. */
export class StoreView implements SharedStore {
  readonly #watchers = new Set<(isUp: boolean) => void>();
  #isUp = true;

  constructor(private readonly memory: MemoryStore) {}

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Cuts this replica off, or connects it again. */
  connect(isUp: boolean): void {
    if (isUp === this.#isUp) return;
    this.#isUp = isUp;
    for (const watcher of this.#watchers) watcher(isUp);
  }

  get = (key: string) => this.#use("GET", () => this.memory.get(key));
  set = (key: string, value: string, ttlMs: number) =>
    this.#use("SET", () => this.memory.set(key, value, ttlMs));
  delete = (key: string) => this.#use("DEL", () => this.memory.delete(key));

  setIfAbsent = (key: string, value: string, ttlMs: number) =>
    this.#use("SET", () => {
      if (this.memory.get(key) !== undefined) return false;
      this.memory.set(key, value, ttlMs);
      return true;
    });

  run = (script: StoreScript, keys: readonly string[], args: readonly string[]) =>
    this.#use(script.name, () => this.memory.runScript(script, keys, args));

  publish(channel: string, message: string): void {
    if (this.#isUp) this.memory.publish(channel, message);
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    return this.memory.subscribe(channel, (message) => {
      if (this.#isUp) listener(message);
    });
  }

  onChange(listener: (isUp: boolean) => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  async #use<T>(what: string, work: () => T): Promise<T> {
    if (!this.#isUp) throw new StoreUnavailable("cut off");
    this.memory.uses.push(what);
    return work();
  }
}
