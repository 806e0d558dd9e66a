/** Why a stored credential cannot be used or written, in one sentence that says what to do. */

/** The kind of an error, for callers and tests. */
export type VaultFault =
  /** Other users may read the file or the folder, or own it. */
  | "permissions"
  /** It was encrypted with a key that is missing. */
  | "key"
  /** It was truncated, edited, or copied from the file of another principal or server. */
  | "damaged"
  /** A system error, such as a full disk. Existing data is intact. */
  | "disk"
  /** The store of the cluster is unavailable. Its data is intact, unless a response was lost. */
  | "store"
  /** Another process has held the lock for longer than any refresh takes. */
  | "locked"
  /** A newer generation of the record is stored. */
  | "superseded";

/** An error of the vault. The message contains paths, ids of principals and servers, and no secret. */
export class VaultError extends Error {
  override readonly name = "VaultError";
  constructor(
    readonly fault: VaultFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
