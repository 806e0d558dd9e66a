/** What several processes keep together: the interface of the store. */

/** A script that the store runs as one step. */
export interface StoreScript {
  /** For messages. */
  readonly name: string;
  /** Lua. All its keys have one hash tag. */
  readonly text: string;
}

/** How another process opens the same store: a module whose `openShared` is called with the settings, which are JSON. */
export interface StoreRecipe {
  /** A URL. */
  readonly module: string;
  readonly settings: unknown;
}

/** The exports of such a module. */
export interface StoreModule {
  readonly openShared: (settings: unknown) => Promise<OwnStore>;
}

/** What the store keeps for all replicas. Each use rejects with `StoreUnavailable` after its deadline, or at once while the store is known to be away. */
export interface SharedStore {
  /** Whether the last use succeeded and the connection stands. */
  readonly isUp: boolean;
  /** Absent where only this process has it. */
  readonly recipe?: StoreRecipe;
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  /** False if the key exists. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
  delete(key: string): Promise<void>;
  run(script: StoreScript, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** A hint, which may be lost. */
  publish(channel: string, message: string): void;
  /** `listener` gets an empty message where others may have been lost. Returns what ends it. */
  subscribe(channel: string, listener: (message: string) => void): () => void;
  /** Calls `listener` when the store goes away and when it comes back. Returns what ends it. */
  onChange(listener: (isUp: boolean) => void): () => void;
}

/** A store that one process has opened for itself. */
export interface OwnStore extends SharedStore {
  /** Ends the connections. */
  close(): Promise<void>;
}

/** The store did not answer in time, or is known to be away. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** Whether the store can be used within `ms`: a new connection takes its time. */
export function untilUp(store: Pick<SharedStore, "isUp" | "onChange">, ms: number): Promise<boolean> {
  if (store.isUp) return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (isUp: boolean): void => {
      clearTimeout(timer);
      unwatch();
      resolve(isUp);
    };
    const timer = setTimeout(() => end(false), ms);
    const unwatch = store.onChange((isUp) => isUp && end(true));
  });
}
