/** Where processes are written down, so that those which outlive a gateway that was killed can be found. */

export interface ProcessLedger {
  /** Writes down that `pid` was started for `server`; call the returned function when it has ended. */
  note(pid: number, server: string, command: string): () => void;
  /** Those that run now. */
  orphans(): readonly Orphan[];
}

/** Remembers nothing. */
export const NO_LEDGER: ProcessLedger = { note: () => () => {}, orphans: () => [] };

/** A process that still runs although the gateway that started it does not. */
export interface Orphan {
  readonly pid: number;
  readonly server: string;
  readonly command: string;
}
