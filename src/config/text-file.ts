/** Reads the files that a person names: regular files only, up to a size, and valid UTF-8. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";

/** A config, a host's own settings, a registry's entry: nothing longer is one (bytes). */
const MAX_TEXT_BYTES = 16_777_216;
/** The largest certificate or key, with those of its authorities (bytes). */
export const MAX_PEM_BYTES = 1_048_576;
const CHUNK_BYTES = 65_536;

/** A file that is not read; the message is the end of a sentence that names it. */
export class TextFileError extends Error {
  override readonly name = "TextFileError";
  /** The text before the place that the message is about. Default: none, which is the beginning. */
  readonly before: string;

  constructor(message: string, before = "") {
    super(message);
    this.before = before;
  }
}

/**
 * The text of a file, a byte order mark included.
 *
 * @param maxBytes of the file; at most one chunk more is read
 * @throws TextFileError for a folder, a pipe, a device, a socket, a larger file or one that is not UTF-8; else the error
 *   of the system
 */
export async function readTextFile(path: string, maxBytes: number = MAX_TEXT_BYTES): Promise<string> {
  // Before it is opened: to open a device may have an effect, and to open a pipe may block.
  refuse(await stat(path), maxBytes);
  const handle = await open(path, FLAGS);
  try {
    refuse(await handle.stat(), maxBytes);
    const chunks = new Chunks(maxBytes);
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES);
      if (bytesRead === 0) return chunks.text();
      chunks.add(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/** The same without a turn of the event loop, for the small files that a config names. */
export function readTextFileSync(path: string, maxBytes: number = MAX_TEXT_BYTES): string {
  refuse(statSync(path), maxBytes);
  const descriptor = openSync(path, FLAGS);
  try {
    refuse(fstatSync(descriptor), maxBytes);
    const chunks = new Chunks(maxBytes);
    for (;;) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      const bytesRead = readSync(descriptor, buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return chunks.text();
      chunks.add(buffer.subarray(0, bytesRead));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The text of a stream that ends. @throws TextFileError if it is larger than `maxBytes` or not UTF-8 */
export async function readTextStream(stream: Readable, maxBytes: number = MAX_TEXT_BYTES): Promise<string> {
  const chunks = new Chunks(maxBytes);
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    chunks.add(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  }
  return chunks.text();
}

/** The reason why a file was not read, as the end of a sentence. */
export function readErrorMessage(error: unknown): string {
  if (error instanceof TextFileError) return error.message;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  if (code === "EISDIR") return "it is a folder";
  if (code === "ELOOP") return "its links lead in a circle";
  return typeof code === "string" ? code : "it failed";
}

/** Without waiting for the writer of a pipe that has taken the file's place. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

function refuse(stats: Stats, maxBytes: number): void {
  if (!stats.isFile()) throw new TextFileError(`it is ${kindOf(stats)}`);
  if (stats.size > maxBytes) throw tooLarge(maxBytes);
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

const tooLarge = (maxBytes: number): TextFileError => {
  const size = maxBytes >= 1_048_576 ? `${Math.floor(maxBytes / 1_048_576)} MiB` : `${maxBytes} bytes`;
  return new TextFileError(`it is larger than ${size}`);
};

/** What was read, up to a size: files of `/proc` have more in them than their size says, and others may grow. */
class Chunks {
  readonly #chunks: Buffer[] = [];
  readonly #maxBytes: number;
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) throw tooLarge(this.#maxBytes);
    this.#chunks.push(chunk);
  }

  text(): string {
    const bytes = Buffer.concat(this.#chunks);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new TextFileError("it is not UTF-8 text", textBefore(bytes));
    }
  }
}

const REPLACEMENT = "\uFFFD";

/** The text before the first bytes that are not UTF-8. */
function textBefore(bytes: Buffer): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  let [byte, from] = [0, 0];
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, from)) {
    byte += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(byte, byte + 3).equals(Buffer.from(REPLACEMENT))) return text.slice(0, at);
    byte += 3;
    from = at + 1;
  }
  return "";
}
