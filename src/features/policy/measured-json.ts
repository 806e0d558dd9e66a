/** How long the JSON text of a large value is, and its digest, without holding others up. */
import { createHash } from "node:crypto";
import { runSteps, type Steps, Work } from "../../runtime/cooperative-yield.js";
import { ExactNumber, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** Length and digest of the JSON text of a value. */
export interface JsonMeasure {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** The measures of the text that `writeJson` would write. */
export const measureJson = (value: unknown): Promise<JsonMeasure> => runSteps(measureSteps(value));

/** Writing a member costs as much as searching this many characters. */
const MEMBER_COST = 8;
/** Characters that are hashed together. */
const HASH_CHUNK = 65_536;

function* measureSteps(value: unknown): Steps<JsonMeasure> {
  // Listing the names of an object of very many members takes as long as one turn may.
  yield;
  const hash = createHash("sha256");
  const work = new Work();
  let bytes = 0;
  let waiting = "";
  const flush = (): void => {
    bytes += Buffer.byteLength(waiting);
    hash.update(waiting);
    waiting = "";
  };
  for (const piece of piecesOf(value)) {
    waiting += piece;
    if (waiting.length > HASH_CHUNK) flush();
    yield* work.spend(MEMBER_COST + piece.length);
  }
  flush();
  return { bytes, sha256: hash.digest("hex") };
}

/** The text in short pieces, except single long strings. */
function* piecesOf(value: unknown): Generator<string, void, void> {
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) {
    yield writeJson(value);
  } else if (Array.isArray(value)) {
    yield "[";
    for (const [at, inner] of (value as readonly unknown[]).entries()) {
      if (at > 0) yield ",";
      yield* piecesOf(inner);
    }
    yield "]";
  } else {
    let before = "{";
    // Entries of an object of very many members take three times as long as its keys.
    for (const key of Object.keys(value)) {
      const inner = (value as JsonObject)[key];
      const head = `${before}${writeJson(key)}:`;
      before = ",";
      if (typeof inner === "object" && inner !== null) {
        yield head;
        yield* piecesOf(inner);
      } else yield head + writeJson(inner);
    }
    yield before === "{" ? "{}" : "}";
  }
}
