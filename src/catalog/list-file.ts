/** How is what is known of a server written into a file, and when is such a file trusted? */
import { exceedsDepth } from "../wire/depth.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import type { KnownServer } from "./known-lists.js";
import { contentOf, readContent, UnusableContent } from "./list-file-content.js";

/** Authenticates a file: 64 hexadecimal digits that depend on every byte of both parts, and on the server. */
export type Seal = (head: string, body: string | Uint8Array) => string;

/** A change that other versions could misread changes the number; they ignore the file then. */
const FORMAT = 1;
/** Larger files are neither written nor read: reading them would delay the start. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Far above what servers nest, and far below a stack overflow. */
const MAX_DEPTH = 512;

/**
 * The first of three lines: name, format, version of the writer, and the seal of everything else. The second is the
 * content; the third has the times at which its lists were loaded, which change where the content does not.
 */
const HEAD = /^(cardea-lists (\d{1,9}) ([\w.+-]{1,64})) ([\da-f]{64})$/;
const MAX_HEAD_BYTES = 256;
const NEWLINE = 10;

/** A file to be written. */
export interface EncodedListFile {
  readonly text: string;
  /** Equal where nothing but times has changed. */
  readonly content: string;
}

/** What was read, or why nothing was, as the end of a sentence about the file. */
export type DecodedListFile =
  | { readonly ok: true; readonly server: KnownServer; readonly content: string }
  | { readonly ok: false; readonly reason: string };

/**
 * The file of `server`; `version` is that of the gateway. Undefined where it would be too large or nested too deeply to
 * be read again.
 */
export function encodeListFile(
  server: KnownServer,
  version: string,
  seal: Seal,
): EncodedListFile | undefined {
  const { known, times } = contentOf(server);
  const content = textFor(known);
  if (content === undefined || exceedsDepth(content, MAX_DEPTH)) return undefined;
  const body = `${content}\n${writeJson(times)}`;
  const head = `cardea-lists ${FORMAT} ${version}`;
  const text = `${head} ${seal(head, body)}\n${body}`;
  return Buffer.byteLength(text) > MAX_FILE_BYTES ? undefined : { text, content };
}

/** Undefined where it is nested too deeply for the stack. */
function textFor(value: unknown): string | undefined {
  try {
    return writeJson(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Reads what `encodeListFile` wrote with the same seal. Entries are checked as when a server lists them. Never throws:
 * everything else is refused with a reason.
 */
export function decodeListFile(bytes: Uint8Array, seal: Seal): DecodedListFile {
  try {
    const [content = "", times = "", ...more] = openBody(bytes, seal).split("\n");
    if (more.length > 0) throw new RefusedFile("it has more than three lines");
    return { ok: true, server: readContent(parseJson(content), parseJson(times)), content };
  } catch (error) {
    if (error instanceof RefusedFile) return { ok: false, reason: error.message };
    if (error instanceof UnusableContent) return { ok: false, reason: error.message };
    if (error instanceof SyntaxError) return { ok: false, reason: "it is not JSON" };
    throw error;
  }
}

/** Why a file is not used. */
class RefusedFile extends Error {
  override readonly name = "RefusedFile";
}

/** What follows the head of a file whose format and seal are right. @throws RefusedFile */
function openBody(bytes: Uint8Array, seal: Seal): string {
  if (bytes.length > MAX_FILE_BYTES) {
    throw new RefusedFile(`it is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
  }
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE);
  const [, head, format, version, sealed] = HEAD.exec(textOf(bytes.subarray(0, Math.max(end, 0)))) ?? [];
  if (head === undefined) throw new RefusedFile("it was cut, damaged or edited: its first line is wrong");
  if (Number(format) !== FORMAT) {
    throw new RefusedFile(`Cardea ${version} wrote it in format ${format}; this version reads ${FORMAT}`);
  }
  const body = bytes.subarray(end + 1);
  if (seal(head, body) !== sealed) {
    throw new RefusedFile("it was cut, damaged or edited: its checksum is wrong");
  }
  const text = textOf(body);
  if (exceedsDepth(text, MAX_DEPTH)) throw new RefusedFile("it is nested too deeply");
  return text;
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
