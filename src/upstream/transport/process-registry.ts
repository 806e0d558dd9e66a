/** Where processes are written down, so that those which outlive a gateway that was killed can be found. */

export interface ProcessRegistry {
  /**
   * Writes down that `pid` was started for `server`; call the returned function when it has ended. Neither throws, and
   * what the function returns resolves when nothing is written any more; it never rejects.
   */
  register(pid: number, server: string, command: string): () => Promise<void>;
  /** Those that run now. Never rejects. */
  orphans(): Promise<readonly Orphan[]>;
}

/** Remembers nothing. */
export const NO_PROCESS_REGISTRY: ProcessRegistry = {
  register: () => async () => {},
  orphans: async () => [],
};

/** A process that still runs although the gateway that started it does not. */
export interface Orphan {
  readonly pid: number;
  readonly server: string;
  readonly command: string;
}
