/** How to start this program again: for a person in a shell, and for a host. */
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import { packageVersion } from "./help.js";

/** Two command lines of this program. */
export interface SelfCommand {
  /** For a person to type. */
  readonly shown: string;
  /** For a host, which may have another `PATH` than the shell. */
  readonly command: string;
  readonly args: readonly string[];
}

/** `script` is the file passed to Node, unresolved. */
export function selfCommand(script: string = process.argv[1] ?? ""): SelfCommand {
  const file = realPath(script);
  // npx deletes its cache from time to time, so a path into it would not last.
  if (/[\\/]_npx[\\/]/.test(file)) {
    const words = ["npx", "-y", `cardea@${packageVersion()}`];
    // On Windows npx is a script, which hosts cannot start without a shell.
    const [command = "", ...args] = process.platform === "win32" ? ["cmd", "/c", ...words] : words;
    return { shown: "npx cardea", command, args };
  }
  const host = { command: process.execPath, args: [file] };
  if (/[\\/]node_modules[\\/]/.test(script)) return { shown: "npx cardea", ...host };
  if (basename(script) === "cardea") return { shown: "cardea", ...host };
  return { shown: `node ${shellWord(file)}`, ...host };
}

/** The text as one shell word. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
