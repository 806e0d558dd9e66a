/** Where server processes are recorded, so that orphans of a killed gateway can be found. */

/** Records the server processes of all gateways. */
export interface ProcessRegistry {
  /**
   * Records that `pid` was started for `server`; the returned function removes the record after the exit. Neither throws;
   * the promise of the function resolves when the record is removed, and never rejects.
   */
  register(pid: number, server: string, command: string): () => Promise<void>;
  /** The orphans that run now. Never rejects. */
  orphans(): Promise<readonly Orphan[]>;
}

/** Records nothing. */
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
