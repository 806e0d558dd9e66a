/** Which lines of a log match? Reads all its files in the order of the chain, without verifying them. */
import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { createInterface } from "node:readline";
import { isObject } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { rotatedFiles } from "./names.js";

/** A line as it is shown. */
export type ShownLine = Readonly<Record<string, unknown>>;

/** What lines must be; absent members match all. */
export interface LineFilter {
  readonly principal?: string | undefined;
  readonly server?: string | undefined;
  readonly kind?: string | undefined;
  /** Ms since 1970. */
  readonly since?: number | undefined;
}

/** The matching lines of the log `file`, oldest first. Lines that are no JSON are left out. @throws the error of the system */
export async function* readLog(file: string, filter: LineFilter): AsyncGenerator<ShownLine> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  for (const each of [...(await rotatedFiles(file)), ...(isThere ? [file] : [])]) {
    for await (const text of createInterface({
      input: createReadStream(each),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      const line = parsed(text);
      if (line !== undefined && matches(line, filter)) yield line;
    }
  }
}

function parsed(text: string): ShownLine | undefined {
  try {
    const value: unknown = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    // `audit verify` reports it.
    return undefined;
  }
}

const matches = (line: ShownLine, { principal, server, kind, since }: LineFilter): boolean =>
  (principal === undefined || line.principal === principal) &&
  (server === undefined || line.server === server) &&
  (kind === undefined || line.kind === kind) &&
  (since === undefined || Date.parse(String(line.at)) >= since);
