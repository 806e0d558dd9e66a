/** The head file: the first and last link of the chain, written in place, so that `verify` detects a truncated end. */
import type { FileHandle } from "node:fs/promises";
import { isObject } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import type { ChainPosition } from "./line.js";

/** The content of the head. */
export interface Head extends ChainPosition {
  /** The link before the first retained line: `seq` 0 while none was deleted. */
  readonly before: ChainPosition;
}

/** A single write of constant length cannot leave remains of the previous text. */
const LENGTH = 320;

/** Overwrites the head. @throws the system error */
export async function writeHead(file: FileHandle, { seq, hash, before }: Head): Promise<void> {
  const text = writeJson({ seq, hash, before: { seq: before.seq, hash: before.hash } });
  await file.write(`${text.padEnd(LENGTH - 1)}\n`, 0);
}

/** The head in `text`; undefined if invalid. */
export function readHead(text: string): Head | undefined {
  try {
    const value: unknown = parseJson(text);
    if (!isObject(value) || !isPosition(value) || !isPosition(value.before)) return undefined;
    return { seq: value.seq, hash: value.hash, before: value.before };
  } catch {
    // The caller reports that there is none.
    return undefined;
  }
}

const isPosition = (value: unknown): value is ChainPosition =>
  isObject(value) && Number.isSafeInteger(value.seq) && /^[0-9a-f]{64}$/.test(String(value.hash));
