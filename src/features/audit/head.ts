/** The head file: the first and last link of the chain, written in place, so that `verify` detects a truncated end. */
import type { FileHandle } from "node:fs/promises";
import { isObject } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import type { ChainPosition, LineDigest } from "./line.js";

/** The content of the head. */
export interface Head extends ChainPosition {
  /** The link before the first retained line: `seq` 0 while none was deleted. */
  readonly before: ChainPosition;
  /** With the key of the log: the digest of the other members. */
  readonly mac?: string;
}

/** A single write of constant length cannot leave remains of the previous text. */
const LENGTH = 448;

/** Overwrites the head. @throws the system error */
export async function writeHead(file: FileHandle, head: Head, keyed?: LineDigest): Promise<void> {
  const links = linksOf(head);
  const text = writeJson(keyed === undefined ? links : { ...links, mac: keyed(writeJson(links)) });
  await file.write(`${text.padEnd(LENGTH - 1)}\n`, 0);
}

/** Whether it was written with this key. */
export const isKeyedHead = (head: Head, keyed: LineDigest): boolean =>
  head.mac === keyed(writeJson(linksOf(head)));

const linksOf = ({ seq, hash, before }: Head): Omit<Head, "mac"> => ({
  ...{ seq, hash },
  before: { seq: before.seq, hash: before.hash },
});

/** The head in `text`; undefined if invalid. */
export function readHead(text: string): Head | undefined {
  try {
    const value: unknown = parseJson(text);
    if (!isObject(value) || !isPosition(value) || !isPosition(value.before)) return undefined;
    const { seq, hash, before, mac } = value;
    return { seq, hash, before, ...(typeof mac === "string" && { mac }) };
  } catch {
    // The caller reports that there is none.
    return undefined;
  }
}

const isPosition = (value: unknown): value is ChainPosition =>
  isObject(value) && Number.isSafeInteger(value.seq) && /^[0-9a-f]{64}$/.test(String(value.hash));
