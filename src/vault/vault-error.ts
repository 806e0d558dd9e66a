/** Why can a kept credential not be used or written? In one sentence that says what to do. */

/** What is wrong: the words by which callers and tests tell the errors apart. */
export type VaultFault =
  /** Others may read the file or the folder, or own it. */
  | "permissions"
  /** It was encrypted with a key that is not here. */
  | "key"
  /** It was cut, edited, or copied from the file of another principal or server. */
  | "damaged"
  /** A system error, such as a full disk. What was there before is still there. */
  | "disk"
  /** The store of the cluster cannot be reached. What it holds is as it was, unless its answer was lost. */
  | "store"
  /** Another process has held the lock for longer than any refresh takes. */
  | "locked"
  /** A newer generation of the record is kept. */
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
