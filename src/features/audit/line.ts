/** Writes an event as a line of the hash chain, and verifies a line. */
import { createHmac, hash } from "node:crypto";
import { isObject } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import type { AuditEvent } from "./types.js";

/** `prev` of the first line. */
const GENESIS = "0".repeat(64);

/** A link of the chain: the next line continues it. */
export interface ChainPosition {
  /** Of the last line; 0 before the first. */
  readonly seq: number;
  /** Its hash. */
  readonly hash: string;
}

/** The link before the first line. */
export const CHAIN_START: ChainPosition = { seq: 0, hash: GENESIS };

/** The digest of a line: SHA-256, or HMAC-SHA-256 with `audit.key`; 64 hex digits. */
export type LineDigest = (content: string | Buffer) => string;

const plainDigest: LineDigest = (content) => hash("sha256", content);

/** The digest with this key; undefined: without one. */
export const digestWith = (key: string | undefined): LineDigest =>
  key === undefined ? plainDigest : (content) => createHmac("sha256", key).update(content).digest("hex");

/** A line as text with its newline, and its link. */
export interface SealedLine extends ChainPosition {
  readonly text: string;
}

/** An event whose members, except `at` and `kind`, are already text: JSON with a comma before each. */
export interface WrittenEvent {
  readonly kind: AuditEvent["kind"];
  readonly at: string;
  readonly text: string;
}

/**
 * Writes `event` as the line after `last`. The hash is the digest of the line without its member `hash`, which is
 * always the last one.
 */
export function sealLine(
  event: AuditEvent | WrittenEvent,
  last: ChainPosition,
  now: () => Date,
  digestOf: LineDigest = plainDigest,
): SealedLine {
  const seq = last.seq + 1;
  const { kind, at, text } = "text" in event ? event : writtenEvent(event, now);
  const open = `{"seq":${seq},"at":"${at}","kind":"${kind}"${text},"prev":"${last.hash}"`;
  const digest = digestOf(`${open}}`);
  return { seq, hash: digest, text: `${open},"hash":"${digest}"}\n` };
}

function writtenEvent(event: AuditEvent, now: () => Date): WrittenEvent {
  const { at = now().toISOString(), kind, ...rest } = event;
  const members = writeJson(rest);
  return { kind, at, text: members === "{}" ? "" : `,${members.slice(1, -1)}` };
}

/** A line that was read. */
export interface ReadLine extends ChainPosition {
  readonly prev: string;
  /** All members. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** A line, with or without the key; or what is wrong with it, then with the link that it claims, if any. */
export type LineCheck =
  | { readonly ok: true; readonly line: ReadLine; readonly isKeyed: boolean }
  | { readonly ok: false; readonly reason: string; readonly claims?: ReadLine };

const SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;
const SUFFIX_LENGTH = `,"hash":""}`.length + 64;
const HASH = /^[0-9a-f]{64}$/;
const CLOSING = Buffer.from("}");

/** Checks the bytes of one line, without its newline. `keyed` is the digest with the key of the log, where it has one. */
export function checkLine(bytes: Buffer, keyed?: LineDigest): LineCheck {
  const members = parsed(bytes);
  if (members === undefined) return { ok: false, reason: "it is no JSON object" };
  const { seq, prev, hash: stated } = members;
  const isPlaced =
    Number.isSafeInteger(seq) &&
    typeof prev === "string" &&
    typeof stated === "string" &&
    HASH.test(prev) &&
    HASH.test(stated);
  if (!isPlaced) return { ok: false, reason: "it has no seq, prev and hash" };
  const line: ReadLine = { seq: seq as number, prev, hash: stated, members };
  const end = bytes.length - SUFFIX_LENGTH;
  const [, written] = SUFFIX.exec(bytes.toString("latin1", Math.max(0, end))) ?? [];
  const content = Buffer.concat([bytes.subarray(0, Math.max(0, end)), CLOSING]);
  if (keyed !== undefined && written === keyed(content)) return { ok: true, line, isKeyed: true };
  return written === plainDigest(content)
    ? { ok: true, line, isKeyed: false }
    : { ok: false, reason: "its hash does not match its content", claims: line };
}

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJson(bytes.toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    // The caller reports the line.
    return undefined;
  }
}
