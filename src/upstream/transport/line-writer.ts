/** When lines are written to a pipe: once per event loop iteration, and with backpressure. */
import type { Writable } from "node:stream";

/** The most that is queued while the reader does not read, in characters. */
const MAX_WAITING = 64 * 1024 * 1024;
/** The most per write, in characters: encoding 1 MiB takes 2 ms. */
const MAX_WRITE = 1024 * 1024;

/** A queue of lines in front of a pipe. */
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

  /** Queues a line, which must not contain a line break; false when the queue is full and the line was dropped. */
  write(line: string): boolean {
    if (this.#waiting > this.#maxWaiting) return false;
    this.#lines.push(line);
    this.#waiting += line.length + 1;
    if (!this.#scheduled && !this.#blocked) {
      this.#scheduled = true;
      // After all sockets of this iteration were read, so that concurrent calls leave in one system call.
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
    return true;
  }

  /** Hands all queued lines to the pipe now; the pipe buffers them. */
  flush(): void {
    this.#blocked = false;
    this.#flush(Number.POSITIVE_INFINITY);
  }

  #flush(most: number = MAX_WRITE): void {
    if (this.#blocked || this.#lines.length === 0 || this.#pipe.destroyed || this.#pipe.writableEnded) return;
    const text = `${this.#take(most).join("\n")}\n`;
    this.#waiting -= text.length;
    // A write of MAX_WRITE always exceeds the high-water mark, so `drain` continues.
    this.#blocked = !this.#pipe.write(text);
    if (!this.#blocked && this.#lines.length > 0) this.#flush(most);
  }

  /** The first lines that are no longer than `most` together, at least one. */
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
