/** The file that says which lines of a log its receiver has: `FILE.sink`, replaced whole after each accepted batch. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { isObject } from "../../../wire/json.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import { CHAIN_START, type ChainPosition } from "../line.js";
import { sinkName } from "../names.js";

/** Only its user may read it. */
const MODE = 0o600;

/** The last line that the receiver of the log `file` has; the start of the chain if it has none. */
export async function readSent(file: string): Promise<ChainPosition> {
  const text = await readFile(sinkName(file), "utf8").catch(() => "");
  try {
    const value: unknown = parseJson(text);
    if (isObject(value) && Number.isSafeInteger(value.seq) && typeof value.hash === "string")
      return { seq: value.seq as number, hash: value.hash };
  } catch {
    // Lines that are posted again are known by their numbers.
  }
  return CHAIN_START;
}

/** @throws the system error */
export async function writeSent(file: string, { seq, hash }: ChainPosition): Promise<void> {
  const path = sinkName(file);
  await writeFile(`${path}.new`, `${writeJson({ seq, hash })}\n`, { mode: MODE });
  await rename(`${path}.new`, path);
}
