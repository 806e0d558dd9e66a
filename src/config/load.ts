/** Loads a config file from the disk. */
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type CheckRules, checkRules } from "./check-rules.js";
import { type BadConfig, type GoodConfig, type ReadOptions, readConfig } from "./read.js";

/** A host's own settings file may be long; nothing longer than this is a config. */
const MAX_BYTES = 16_777_216;

/** The content of the file, or the problem that it cannot be read. */
export async function readConfigFile(
  file: string,
  cwd: string = process.cwd(),
): Promise<{ readonly text: string } | BadConfig> {
  const bad = (message: string): BadConfig => ({
    ok: false,
    problems: [{ file, line: 1, column: 1, message }],
    warnings: [],
    rules: {},
    problemAt: (_, more) => ({ file, line: 1, column: 1, message: more }),
  });
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(cwd, file));
  } catch (error) {
    return bad(`the config file cannot be read: ${readErrorMessage(error)}`);
  }
  if (bytes.length > MAX_BYTES) return bad("the file is larger than 16 MiB, which no config is");
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return bad("the file is not UTF-8 text");
  }
}

/** Reads, expands and validates a config file; never throws for problems of the file. */
export async function loadConfig(
  file: string,
  check: CheckRules,
  options: ReadOptions = {},
): Promise<GoodConfig | BadConfig> {
  const content = await readConfigFile(file, options.cwd);
  if (!("text" in content)) return content;
  const read = await checkRules(readConfig(content.text, file, options), check);
  if (!(await isWorldWritable(resolve(options.cwd ?? process.cwd(), file)))) return read;
  const message =
    "the file is world-writable: every user of this machine can start programs as the gateway's user";
  return { ...read, warnings: [...read.warnings, { file, line: 1, column: 1, message }] };
}

/** By Unix permissions; always false on Windows. */
async function isWorldWritable(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  return process.platform !== "win32" && (mode & 0o002) !== 0;
}

/** The system's error code for an unreadable file, in words. */
export function readErrorMessage(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  if (code === "EISDIR") return "it is a folder";
  return typeof code === "string" ? code : "it failed";
}

/** The same of an unwritable file; of one that does not exist yet, the folder is missing. */
export function writeErrorMessage(error: unknown): string {
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  return isMissing ? "its folder does not exist" : readErrorMessage(error);
}
