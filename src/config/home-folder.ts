/** The home folder of the user of this process. */
import { homedir } from "node:os";
import { resolve } from "node:path";

/**
 * `$HOME`, otherwise the one of the user's entry in the system. A user without both, as in containers that run under any
 * user id, has `/`, as Docker sets it: nothing can be kept there, and nothing fails.
 */
export function homeFolder({ HOME }: { readonly [name: string]: string | undefined } = process.env): string {
  if (HOME !== undefined && HOME !== "") return HOME;
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/** `path` from `folder`, or from the home folder where it begins with `~/`. */
export const absolutePath = (path: string, folder: string): string =>
  resolve(folder, path.startsWith("~/") ? homeFolder() + path.slice(1) : path);
