/** Finds the config file: flag, environment, working directory, user's config folder, in that order. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { homeFolder } from "./home-folder.js";

/** Where a config is searched for. */
export interface SearchContext {
  /** The value of `--config`. */
  readonly flag?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The config file that was named or discovered. */
export interface ConfigLocation {
  /** The path as written, or where it was found; for messages. */
  readonly file: string;
  /** How it was chosen: `--config`, `CARDEA_CONFIG`, or discovery. */
  readonly by: "--config" | "CARDEA_CONFIG" | "discovery";
}

const NAMES = ["cardea.jsonc", "cardea.json", "cardea.yaml", "cardea.yml"] as const;

/** The default paths in order; those in the working directory are relative. */
export function searchPaths({ env }: Pick<SearchContext, "env">): readonly string[] {
  const config = env.XDG_CONFIG_HOME || join(homeFolder(env), ".config");
  return [...NAMES, ".mcp.json", ...NAMES.map((name) => join(config, "cardea", name))];
}

/** The message when no file is found. */
export const noConfigMessage = (context: Pick<SearchContext, "env">): string =>
  `no config file: looked for ${searchPaths(context).join(", ")}; --config names another`;

/** `undefined` if no file is named and none exists. A named file need not exist. */
export function findConfig(context: SearchContext): ConfigLocation | undefined {
  if (context.flag !== undefined) return { file: context.flag, by: "--config" };
  if (context.env.CARDEA_CONFIG) return { file: context.env.CARDEA_CONFIG, by: "CARDEA_CONFIG" };
  const file = searchPaths(context).find((place) => isThere(join(absoluteIn(context.cwd, place))));
  return file === undefined ? undefined : { file, by: "discovery" };
}

const absoluteIn = (folder: string, path: string): string =>
  path.startsWith("/") || /^[A-Za-z]:/.test(path) ? path : join(folder, path);

/** What is there and no file is found as well: to use the next place in silence would use another config. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    // Links in a circle, a folder without permission: the error of reading it has the reason.
    return true;
  }
}
