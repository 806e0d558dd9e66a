/** Finds matching lines: reads all files in chain order, without verification. */
import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { createInterface } from "node:readline";
import { isObject } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import { rotatedFiles } from "./names.js";

/** A line as shown. */
export type ShownLine = Readonly<Record<string, unknown>>;

/** The filter; absent members match all. */
export interface LineFilter {
  readonly principal?: string | undefined;
  readonly server?: string | undefined;
  readonly kind?: string | undefined;
  /** Ms since 1970. */
  readonly since?: number | undefined;
}

/** The matching lines of the log `file`, oldest first. Invalid JSON lines are skipped. @throws the system error */
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
