/** Loads a config file from the disk. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { checkSections } from "./check-sections.js";
import { SourcePositions } from "./problem.js";
import { type BadConfig, type GoodConfig, type ReadOptions, readConfig } from "./read.js";
import { readErrorMessage, readTextFile, TextFileError } from "./text-file.js";

/** The content of the file, or the problem that it cannot be read. */
export async function readConfigFile(
  file: string,
  cwd: string = process.cwd(),
): Promise<{ readonly text: string } | BadConfig> {
  try {
    return { text: await readTextFile(resolve(cwd, file)) };
  } catch (error) {
    const before = error instanceof TextFileError ? error.before : "";
    const { line, column } = new SourcePositions(file, before).problem({
      offset: before.length,
      message: "",
    });
    const at = { file, line, column };
    const message = `the config file cannot be read: ${readErrorMessage(error)}`;
    return {
      ok: false,
      problems: [{ ...at, message }],
      warnings: [],
      check: async () => [],
      problemAt: (_, more) => ({ file, line: 1, column: 1, message: more }),
    };
  }
}

/** Reads, expands and validates a config file; never throws for problems of the file. */
export async function loadConfig(file: string, options: ReadOptions = {}): Promise<GoodConfig | BadConfig> {
  const content = await readConfigFile(file, options.cwd);
  if (!("text" in content)) return content;
  const read = await checkSections(readConfig(content.text, file, options));
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

/** The reason why a file was not written, as the end of a sentence; of one that does not exist yet, the folder is missing. */
export function writeErrorMessage(error: unknown): string {
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  return isMissing ? "its folder does not exist" : readErrorMessage(error);
}
