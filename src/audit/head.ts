/** Where does the chain end and begin? A small file beside the log, written over in place, lets `verify` see a truncated end. */
import type { FileHandle } from "node:fs/promises";
import { isObject } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import type { ChainPosition } from "./line.js";

/** What the head says. */
export interface Head extends ChainPosition {
  /** The place before the first line that is kept: `seq` 0 while none was deleted. */
  readonly before: ChainPosition;
}

/** One write of always the same length cannot leave a part of the text before. */
const LENGTH = 320;

/** Writes the head over the one before. @throws the error of the system */
export async function writeHead(file: FileHandle, { seq, hash, before }: Head): Promise<void> {
  const text = writeJson({ seq, hash, before: { seq: before.seq, hash: before.hash } });
  await file.write(`${text.padEnd(LENGTH - 1)}\n`, 0);
}

/** The head in `text`; undefined where it is none. */
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
