/** Verifies a log: reads every line once and reports the first and further faults. */
import { createReadStream } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { type Head, isKeyedHead, readHead } from "./head.js";
import { CHAIN_START, type ChainPosition, checkLine, digestWith, type LineDigest } from "./line.js";
import { lockHolder } from "./lock.js";
import { headName, rotatedFiles } from "./names.js";

/** A fault and its position. */
export interface Fault {
  readonly file: string;
  /** From 1; absent if the fault is in no line. */
  readonly line?: number;
  /** Byte offset of the line. */
  readonly byte?: number;
  /** The actual or expected number of the line. */
  readonly seq?: number;
  readonly reason: string;
}

/** The result. */
export interface Verification {
  readonly file: string;
  readonly ok: boolean;
  readonly files: number;
  readonly lines: number;
  /** The numbers of the first and last line; 0 if there is none. */
  readonly from: number;
  readonly to: number;
  /** The number of the first line with the key; absent where no key was given. 0: no line has it. */
  readonly keyedFrom?: number;
  /** At most MAX_FAULTS. */
  readonly faults: readonly Fault[];
}

/** How a command gets the key. */
const GIVE_KEY = "--config FILE with audit.key, or CARDEA_AUDIT_KEY";
const MAX_FAULTS = 20;
const NEWLINE = 0x0a;
/** A longer line (bytes) cannot be from Cardea. */
const MAX_LINE = 1_048_576;

/**
 * Verifies the log `file` with its rotated files and its head.
 *
 * @param key with which its lines are written, from some line on; undefined if it is not known
 * @throws the system error if it cannot be read
 */
export async function verifyLog(file: string, key?: string): Promise<Verification> {
  const head = readHead(await readFile(headName(file), "utf8").catch(() => ""));
  const isWritten = (await lockHolder(file)) !== undefined;
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  const files = [...(await rotatedFiles(file)), ...(isThere ? [file] : [])];
  const chain = new Chain(head, key === undefined ? undefined : digestWith(key));
  if (chain.lacksKey)
    chain.faults.push({ file, reason: `the log has a key, which is needed to verify it: ${GIVE_KEY}` });
  else {
    for (const each of files) await chain.read(each, each === file && isWritten);
    chain.end(file);
  }
  return { file, ok: chain.faults.length === 0, files: files.length, ...chain.result };
}

class Chain {
  readonly faults: Fault[] = [];
  readonly #head: Head | undefined;
  readonly #keyed: LineDigest | undefined;
  #keyedFrom = 0;
  #last: ChainPosition | undefined;
  #from = 0;
  #lines = 0;
  /** The previous line is faulty, so the next one need not match it. */
  #isBroken = false;

  constructor(head: Head | undefined, keyed: LineDigest | undefined) {
    this.#head = head;
    this.#keyed = keyed;
  }

  /** Whether the log was written with a key that is not known: each line would be a fault. */
  get lacksKey(): boolean {
    return this.#keyed === undefined && this.#head?.mac !== undefined;
  }

  get result() {
    const { faults } = this;
    return {
      ...{ lines: this.#lines, from: this.#from, to: this.#last?.seq ?? 0 },
      ...(this.#keyed !== undefined && { keyedFrom: this.#keyedFrom }),
      faults,
    };
  }

  /** @param mayGrow whether an incomplete last line may be a write in progress */
  async read(path: string, mayGrow: boolean): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    let byte = 0;
    let line = 0;
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        line += 1;
        this.#check(bytes.subarray(start, end), { file: path, line, byte });
        byte += end + 1 - start;
        start = end + 1;
      }
      rest = bytes.subarray(start);
      if (rest.length > MAX_LINE) break;
    }
    if (rest.length > 0 && (!mayGrow || rest.length > MAX_LINE)) {
      const what =
        rest.length > MAX_LINE ? "a line without an end" : `an unfinished last line of ${rest.length} bytes`;
      this.#fault({ file: path, line: line + 1, byte, reason: what });
    }
  }

  /** Compares the end with the head. */
  end(file: string): void {
    const head = this.#head;
    const name = basename(headName(file));
    if (head === undefined) {
      this.#fault({ file, reason: `${name} is missing or invalid: a truncated end cannot be detected` });
      return;
    }
    if (this.#keyed !== undefined) this.#checkKey(file, head, this.#keyed);
    const seq = this.#last?.seq ?? 0;
    if (seq < head.seq && !(this.#last === undefined && head.seq === head.before.seq))
      this.#fault({
        file,
        seq: seq + 1,
        reason: `the log ends at line ${seq}, and ${name} says ${head.seq}: ${head.seq - seq} missing at the end`,
      });
  }

  /** A log that was written without the key, or whose head was, is one that another program may have written. */
  #checkKey(file: string, head: Head, keyed: LineDigest): void {
    if (this.#lines > 0 && this.#keyedFrom === 0)
      this.#fault({ file, reason: "no line was written with the key" });
    else if (this.#keyedFrom > 0 && !isKeyedHead(head, keyed))
      this.#fault({ file, reason: `${basename(headName(file))} was not written with the key` });
  }

  #check(bytes: Buffer, at: Pick<Required<Fault>, "file" | "line" | "byte">): void {
    this.#lines += 1;
    const check = checkLine(bytes, this.#keyed);
    const expected = this.#last;
    const claims = check.ok ? check.line : check.claims;
    if (!check.ok) {
      const seq = claims?.seq ?? (expected === undefined ? undefined : expected.seq + 1);
      this.#fault({ ...at, ...(seq !== undefined && { seq }), reason: check.reason });
    } else {
      if (check.isKeyed && this.#keyedFrom === 0) this.#keyedFrom = check.line.seq;
      if (!check.isKeyed && this.#keyedFrom > 0)
        this.#fault({ ...at, seq: check.line.seq, reason: "it was written without the key" });
      if (!this.#isBroken) this.#checkPlace(check.line, at);
    }
    this.#isBroken = !check.ok;
    if (claims === undefined) {
      this.#last = expected && { seq: expected.seq + 1, hash: expected.hash };
      return;
    }
    if (this.#from === 0) this.#from = claims.seq;
    this.#last = { seq: claims.seq, hash: claims.hash };
    if (check.ok && claims.seq === this.#head?.seq && claims.hash !== this.#head.hash)
      this.#fault({
        ...at,
        seq: claims.seq,
        reason: "it is not the line that the head names: another log was put in its place",
      });
  }

  #checkPlace(
    { seq, prev }: { readonly seq: number; readonly prev: string },
    at: Omit<Fault, "reason">,
  ): void {
    const before = this.#expected(seq, prev);
    const missing = seq - before.seq - 1;
    if (missing > 0)
      this.#fault({ ...at, seq, reason: `line ${seq} follows ${before.seq}: ${missing} missing before it` });
    else if (missing < 0)
      this.#fault({
        ...at,
        seq,
        reason: `line ${seq} follows ${before.seq}: it is there twice, or out of order`,
      });
    else if (prev !== before.hash)
      this.#fault({
        ...at,
        seq,
        reason: `it does not continue line ${before.seq}: another log was put in its place`,
      });
  }

  /** The link before the next line. A crash may leave older files than the head names. */
  #expected(seq: number, prev: string): ChainPosition {
    if (this.#last !== undefined) return this.#last;
    const first = this.#head?.before ?? CHAIN_START;
    return seq <= first.seq ? { seq: seq - 1, hash: prev } : first;
  }

  #fault(fault: Fault): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault);
  }
}
