/** For how long do the entries of a server that is away stay in the lists? */

/** The absence of one server: it begins with the loss of its connection, and ends with the next list. */
export class Absence {
  readonly #graceMs: number;
  readonly #onLeft: () => void;
  #hasLeft = false;
  #grace: NodeJS.Timeout | undefined;

  /** @param onLeft called when the entries leave the lists, `graceMs` after the beginning */
  constructor(graceMs: number, onLeft: () => void) {
    this.#graceMs = graceMs;
    this.#onLeft = onLeft;
  }

  /** Whether the entries have left the lists. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Begins as it was under an earlier config. */
  inherit({ hasLeft }: Absence): void {
    this.#hasLeft = hasLeft;
  }

  /** The server is away. */
  begin(): void {
    if (this.#hasLeft || this.#grace !== undefined) return;
    this.#grace = setTimeout(() => {
      this.#grace = undefined;
      this.#hasLeft = true;
      this.#onLeft();
    }, this.#graceMs);
  }

  /** The server is connected again; entries that have left come back with the next list. */
  stop(): void {
    clearTimeout(this.#grace);
    this.#grace = undefined;
  }

  /** A list was loaded; returns whether the entries had left. */
  end(): boolean {
    const hadLeft = this.#hasLeft;
    this.#hasLeft = false;
    return hadLeft;
  }
}
