/** Writes lines to a pipe: all of one turn of the event loop at once, and no faster than the other side reads. */
import type { Writable } from "node:stream";

/** How much may wait for a reader that does not read, in characters. */
const MAX_WAITING = 64 * 1024 * 1024;

export class LineWriter {
  readonly #pipe: Writable;
  readonly #maxWaiting: number;
  #lines: string[] = [];
  #waiting = 0;
  #scheduled = false;
  #blocked = false;

  constructor(pipe: Writable, maxWaiting: number = MAX_WAITING) {
    this.#pipe = pipe;
    this.#maxWaiting = maxWaiting;
    pipe.on("drain", () => {
      this.#blocked = false;
      this.#flush();
    });
  }

  /** Takes a line, which must not contain a line break; false when too much is waiting and it was not taken. */
  write(line: string): boolean {
    if (this.#waiting > this.#maxWaiting) return false;
    this.#lines.push(line);
    this.#waiting += line.length + 1;
    if (!this.#scheduled && !this.#blocked) {
      this.#scheduled = true;
      // After all sockets of this turn were read, so that calls that came together leave in one system call.
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
    return true;
  }

  /** Writes at once what is still waiting; the pipe keeps it until it can be sent. */
  flush(): void {
    this.#blocked = false;
    this.#flush();
  }

  #flush(): void {
    if (this.#blocked || this.#lines.length === 0 || this.#pipe.destroyed || this.#pipe.writableEnded) return;
    const text = this.#lines.length === 1 ? `${this.#lines[0]}\n` : `${this.#lines.join("\n")}\n`;
    this.#lines = [];
    this.#waiting = 0;
    this.#blocked = !this.#pipe.write(text);
  }
}
