/** How is this program started again: by a person in a shell, and by a host? */
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import { packageVersion } from "./help.js";

/** Two ways to start this program. */
export interface SelfCommand {
  /** For a person to type. */
  readonly shown: string;
  /** For a host, which may have another `PATH` than the shell. */
  readonly command: string;
  readonly args: readonly string[];
}

/** `script` is the file that Node was started with, as it was named. */
export function selfCommand(script: string = process.argv[1] ?? ""): SelfCommand {
  const file = realPath(script);
  // npx empties its cache from time to time, so a path into it would not last.
  if (/[\\/]_npx[\\/]/.test(file)) {
    return { shown: "npx cardea", command: "npx", args: ["-y", `cardea@${packageVersion()}`] };
  }
  const host = { command: process.execPath, args: [file] };
  if (/[\\/]node_modules[\\/]/.test(script)) return { shown: "npx cardea", ...host };
  if (basename(script) === "cardea") return { shown: "cardea", ...host };
  return { shown: `node ${shellWord(file)}`, ...host };
}

/** The text as one word of a shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
