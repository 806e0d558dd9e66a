/** How is the memory of a large request body released before its response, which may await a person? */

/** A body that is released when it was read. */
export class SingleUseBody implements AsyncIterableIterator<Buffer> {
  readonly length: number;
  #bytes: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.length = bytes.length;
    this.#bytes = bytes;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Buffer>> {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return Promise.resolve(
      bytes === undefined ? { done: true, value: undefined } : { done: false, value: bytes },
    );
  }
}
