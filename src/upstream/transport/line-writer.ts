/** Writes lines to a pipe: all of one turn of the event loop at once, and no faster than the other side reads. */
import type { Writable } from "node:stream";

/** How much may wait for a reader that does not read, in characters. */
const MAX_WAITING = 64 * 1024 * 1024;
/** How much is written in one turn of the event loop, in characters: to encode a MiB takes some 2 ms. */
const MAX_WRITE = 1024 * 1024;

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
    this.#flush(Number.POSITIVE_INFINITY);
  }

  #flush(most: number = MAX_WRITE): void {
    if (this.#blocked || this.#lines.length === 0 || this.#pipe.destroyed || this.#pipe.writableEnded) return;
    const text = `${this.#take(most).join("\n")}\n`;
    this.#waiting -= text.length;
    // What is as long as that always blocks, so that the rest comes with `drain`.
    this.#blocked = !this.#pipe.write(text);
    if (!this.#blocked && this.#lines.length > 0) this.#flush(most);
  }

  /** Mostly all lines: as many as are no longer than `most` together, and at least one. */
  #take(most: number): readonly string[] {
    const lines = this.#lines;
    if (this.#waiting > most && lines.length > 1) {
      let count = 1;
      for (let length = lines[0]?.length ?? 0; count < lines.length; count++) {
        length += lines[count]?.length ?? 0;
        if (length > most) break;
      }
      return lines.splice(0, count);
    }
    this.#lines = [];
    return lines;
  }
}
