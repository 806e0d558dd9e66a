/** The file format of a server's cached lists, and its authentication. */
import { createHash } from "node:crypto";
import type { PersistedServer } from "../../core/persisted-lists.js";
import type { Steps } from "../../runtime/cooperative-yield.js";
import { prototypeMemberSentence } from "../../wire/envelope.js";
import { exceedsDepth } from "../../wire/json-scan.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import { prototypeMembers } from "../../wire/prototype-members.js";
import { ListFileContent, MAX_DEPTH, readContent, UnusableContent } from "./list-file-content.js";

/** Computes a digest of several texts. */
interface Digest {
  update(part: string | Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

/** Authenticates the file of one server with this head: 64 hexadecimal digits that depend on every byte of head and parts. */
export type Seal = (head: string) => Digest;

/** Incremented with incompatible changes; other versions then ignore the file. */
const FORMAT = 1;
/** Larger files are neither written nor read: reading them would delay the start. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Text is written in pieces of this length (characters), with the event loop free in between. */
const PIECE_LENGTH = 64 * 1024;

/**
 * The first of three lines: name, format, version of the writer, and the seal of everything else. The second is the
 * content; the third has the load times of its lists, which change without the content.
 */
const HEAD = /^(cardea-lists (\d{1,9}) ([\w.+-]{1,64})) ([\da-f]{64})$/;
const MAX_HEAD_BYTES = 256;
const NEWLINE = 10;

/** A file to write. */
export interface EncodedListFile {
  /** Its text, in pieces. */
  readonly text: readonly string[];
  /** The digest of the content: equal if only times have changed. */
  readonly content: string;
}

/** The content, or why there is none, as the end of a sentence about the file. */
export type DecodedListFile =
  | { readonly ok: true; readonly server: PersistedServer; readonly content: string }
  | { readonly ok: false; readonly reason: string };

/**
 * The file of `server`, in steps; `version` is that of the gateway. Undefined if it would be too large or nested too
 * deeply to be read again.
 */
export function* encodeListFile(
  server: PersistedServer,
  version: string,
  seal: Seal,
): Steps<EncodedListFile | undefined> {
  const head = `cardea-lists ${FORMAT} ${version}`;
  const [sealing, digesting] = [seal(head), contentDigest()];
  const content = new ListFileContent(server);
  const text: string[] = [];
  let length = MAX_HEAD_BYTES;
  const add = (piece: string): void => {
    sealing.update(piece);
    length += Buffer.byteLength(piece);
    text.push(piece);
  };
  try {
    let piece = "";
    for (const part of content.pieces()) {
      piece += part;
      if (piece.length < PIECE_LENGTH) continue;
      digesting.update(piece);
      add(piece);
      piece = "";
      if (length > MAX_FILE_BYTES) return undefined;
      yield;
    }
    digesting.update(piece);
    add(`${piece}\n${writeJson(content.times)}`);
  } catch (error) {
    // Nested too deeply, also for the stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  if (length > MAX_FILE_BYTES) return undefined;
  const [first = "", ...rest] = text;
  // Most files are one piece, and so one write.
  return { text: [`${head} ${sealing.digest("hex")}\n${first}`, ...rest], content: digesting.digest("hex") };
}

const contentDigest = (): Digest => createHash("sha256");

/**
 * Reads what `encodeListFile` wrote with the same seal. Entries are validated like those of a server. Never throws: any
 * other content is refused with a reason.
 */
export function decodeListFile(bytes: Uint8Array, seal: Seal): DecodedListFile {
  try {
    const [content = "", times = "", ...more] = openBody(bytes, seal).split("\n");
    if (more.length > 0) throw new RefusedFile("it has more than three lines");
    const server = readContent(parseJson(content), parseJson(times));
    const [member] = prototypeMembers(content);
    if (member !== undefined) throw new RefusedFile(prototypeMemberSentence(member));
    return { ok: true, server, content: digestOf(contentDigest(), content) };
  } catch (error) {
    if (error instanceof RefusedFile) return { ok: false, reason: error.message };
    if (error instanceof UnusableContent) return { ok: false, reason: error.message };
    if (error instanceof SyntaxError) return { ok: false, reason: "it is not JSON" };
    throw error;
  }
}

/** Why a file is refused. */
class RefusedFile extends Error {
  override readonly name = "RefusedFile";
}

/** The lines after the header of a valid file. @throws RefusedFile */
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
  if (digestOf(seal(head), body) !== sealed) {
    throw new RefusedFile("it was cut, damaged or edited: its checksum is wrong");
  }
  const text = textOf(body);
  if (exceedsDepth(text, MAX_DEPTH)) throw new RefusedFile("it is nested too deeply");
  return text;
}

function digestOf(digest: Digest, text: string | Uint8Array): string {
  digest.update(text);
  return digest.digest("hex");
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
