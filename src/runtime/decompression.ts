/** Which bytes does a compressed HTTP body hold (Content-Encoding, RFC 9110, 8.4)? It is inflated as it arrives, within bounds. */
import { Transform, type TransformCallback } from "node:stream";
import * as zlib from "node:zlib";

/** Receives the content of a body. No method is called after `end` or `fail`. */
export interface ContentReceiver {
  /** Must not throw. */
  data(chunk: Buffer): void;
  end(): void;
  fail(error: ContentEncodingError): void;
  /** Many compressed bytes wait: the connection is not read until `resume`. */
  pause(): void;
  resume(): void;
}

/** The content of a body cannot be read; the message is a clause about the response. */
export class ContentEncodingError extends Error {
  override readonly name = "ContentEncodingError";
  /**
   * @param kind `unknown`: an encoding that is not supported; `excessive`: the content is too large for what was sent;
   * `invalid`: the bytes are cut off, or not of this encoding
   */
  constructor(
    readonly kind: "unknown" | "excessive" | "invalid",
    sentence: string,
  ) {
    super(sentence);
  }
}

/** The content may be this many times as long as what was sent, ... */
const MAX_RATIO = 100;
/** ... and this many bytes longer, ... */
const FREE_BYTES = 4 * 1024 * 1024;
/** ... and each piece that arrives may have this many bytes: an event like the one before it is compressed to almost nothing. */
const FREE_BYTES_PER_PIECE = 16 * 1024;
/** The most encodings on top of each other. */
const MAX_STAGES = 4;
/** Log2 of the window (bytes): what a recipient of `zstd` must support (RFC 9659). */
const ZSTD_WINDOW_LOG = 23;

/** zlib of Node since 22.15 and 23.8. */
const { createZstdDecompress, constants } = zlib as typeof zlib & {
  readonly createZstdDecompress?: (options: zlib.BrotliOptions) => Transform;
  readonly constants: { readonly ZSTD_d_windowLogMax?: number };
};

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", () => zlib.createGunzip()],
  ["x-gzip", () => zlib.createGunzip()],
  ["deflate", () => new InflateEither()],
  ["br", () => zlib.createBrotliDecompress()],
  ...(createZstdDecompress === undefined
    ? []
    : [
        [
          "zstd",
          () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax ?? 100]: ZSTD_WINDOW_LOG } }),
        ] as const,
      ]),
]);

/** Values that servers send for a body that is not encoded. */
const PLAIN: ReadonlySet<string> = new Set(["", "identity", "none", "utf-8"]);

/** The encodings of a body in the order in which they were applied; undefined where there is none. */
export function encodingsIn(header: string | undefined): readonly string[] | undefined {
  if (header === undefined || header === "identity") return undefined;
  const encodings = header
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !PLAIN.has(name));
  return encodings.length === 0 ? undefined : encodings;
}

/** Inflates one body, on the thread pool. */
export class Decompression {
  readonly #encodings: readonly string[];
  readonly #receiver: ContentReceiver;
  /** Made when the first byte arrives: a response to HEAD has encodings and no body. */
  #stages: readonly Transform[] | undefined;
  #bytes = 0;
  #pieces = 0;
  #isEnded = false;
  #isOver = false;
  #isPaused = false;

  /** @param encodings of `encodingsIn` */
  constructor(encodings: readonly string[], receiver: ContentReceiver) {
    this.#encodings = encodings;
    this.#receiver = receiver;
  }

  /** The next bytes of the body. */
  write(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    this.#stages ??= this.#open();
    this.#bytes += chunk.length;
    this.#pieces += 1;
    if (this.#stages.at(0)?.write(chunk) === false) this.#receiver.pause();
  }

  /** The body is whole: `end` or `fail` follows when all of its content was delivered. */
  end(): void {
    this.#isEnded = true;
    if (this.#stages !== undefined) this.#stages.at(0)?.end();
    else this.#finish();
  }

  /** Delivers nothing more until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#stages?.at(-1)?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stages?.at(-1)?.resume();
  }

  /** Delivers nothing more. */
  destroy(): void {
    this.#isOver = true;
    for (const stage of this.#stages ?? []) stage.destroy();
  }

  #open(): readonly Transform[] {
    const decoders = this.#encodings.map((name) => DECODERS.get(name));
    const unknown = this.#encodings[decoders.indexOf(undefined)];
    if (unknown !== undefined || decoders.length > MAX_STAGES) {
      this.#fail(unsupported(unknown ?? this.#encodings.join(", ")));
      return [];
    }
    // The last encoding was applied last.
    const stages = decoders.flatMap((decoder) => decoder?.() ?? []).reverse();
    for (const [index, stage] of stages.entries()) {
      let size = 0;
      stage.on("error", (error) => this.#fail(this.#invalid(error)));
      stage.on("data", (content: Buffer) => {
        size += content.length;
        // Of each stage: what one of them inflates may be nothing to the next.
        if (this.#isExcessive(size)) this.#fail(excessive(this.#encodings));
        else if (index === stages.length - 1 && !this.#isOver) this.#receiver.data(content);
      });
      const next = stages[index + 1];
      if (next === undefined) stage.on("end", () => this.#finish());
      else stage.pipe(next);
    }
    stages.at(0)?.on("drain", () => {
      if (!this.#isEnded && !this.#isOver) this.#receiver.resume();
    });
    if (this.#isPaused) stages.at(-1)?.pause();
    return stages;
  }

  #isExcessive(size: number): boolean {
    return size > FREE_BYTES + MAX_RATIO * this.#bytes + FREE_BYTES_PER_PIECE * this.#pieces;
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.end();
  }

  #fail(error: ContentEncodingError): void {
    if (this.#isOver) return;
    this.destroy();
    this.#receiver.fail(error);
  }

  #invalid(error: Error): ContentEncodingError {
    const encoding = this.#encodings.join(", ");
    const isCut = this.#isEnded && "code" in error && error.code === "Z_BUF_ERROR";
    return new ContentEncodingError(
      "invalid",
      isCut
        ? `its compressed response (${encoding}) is cut off`
        : `its response is not what its content encoding says (${encoding}): ${error.message}`,
    );
  }
}

/**
 * The content of a whole body of at most `maxBytes` bytes.
 *
 * @throws ContentEncodingError
 */
export function inflateBody(body: Buffer, header: string | undefined, maxBytes: number): Promise<Buffer> {
  const encodings = encodingsIn(header);
  if (encodings === undefined) return Promise.resolve(body);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const decompression = new Decompression(encodings, {
      data: (chunk) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size <= maxBytes) return;
        decompression.destroy();
        reject(
          new ContentEncodingError("excessive", `its content (${header}) is larger than ${maxBytes} bytes`),
        );
      },
      end: () => resolve(Buffer.concat(chunks, size)),
      fail: reject,
      pause: () => {},
      resume: () => {},
    });
    decompression.write(body);
    decompression.end();
  });
}

const MAX_NAME_LENGTH = 40;

const unsupported = (encoding: string): ContentEncodingError =>
  new ContentEncodingError(
    "unknown",
    `its response has the content encoding "${encoding.slice(0, MAX_NAME_LENGTH).replace(/[^ !#-~]/g, "?")}", which is not supported (${[...DECODERS.keys()].join(", ")} are), although the request allows identity only`,
  );

const excessive = (encodings: readonly string[]): ContentEncodingError =>
  new ContentEncodingError(
    "excessive",
    `its compressed response (${encodings.join(", ")}) inflates to more than ${MAX_RATIO} times its size`,
  );

/** `deflate` is the zlib format; some servers send raw deflate data (RFC 9110, 8.4.1.2), which the first byte shows. */
class InflateEither extends Transform {
  #inflate: Transform | undefined;

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#inflate ??= this.#open(chunk);
    this.#inflate.write(chunk, (error) => {
      // An error is an event too.
      if (error == null) done();
    });
  }

  override _flush(done: TransformCallback): void {
    if (this.#inflate === undefined) {
      done();
      return;
    }
    this.#inflate.once("end", () => done());
    this.#inflate.end();
  }

  override _read(size: number): void {
    this.#inflate?.resume();
    super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inflate?.destroy();
    done(error);
  }

  #open(chunk: Buffer): Transform {
    const isZlib = ((chunk[0] ?? 0) & 0x0f) === 8;
    const inflate = isZlib ? zlib.createInflate() : zlib.createInflateRaw();
    inflate.on("data", (content: Buffer) => {
      if (!this.push(content)) inflate.pause();
    });
    inflate.on("error", (error) => this.destroy(error));
    return inflate;
  }
}
