/** Finds the config file: the flag, the environment, this folder, the person's own folder, in that order. */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export interface SearchContext {
  /** What `--config` says. */
  readonly flag?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export interface FoundConfig {
  /** As it is shown to people: what they wrote, or where it was found. */
  readonly file: string;
  /** Why this one: `--config`, `CARDEA_CONFIG`, or that it was found. */
  readonly by: "--config" | "CARDEA_CONFIG" | "discovery";
}

const NAMES = ["cardea.jsonc", "cardea.json", "cardea.yaml", "cardea.yml"] as const;

/** Every place that is looked at when nobody names a file, in order; those in this folder are relative. */
export function searchPaths({ env }: Pick<SearchContext, "env">): readonly string[] {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return [...NAMES, ".mcp.json", ...NAMES.map((name) => join(config, "cardea", name))];
}

/** What a person is told when none is found. */
export const noConfigMessage = (context: Pick<SearchContext, "env">): string =>
  `no config file: looked for ${searchPaths(context).join(", ")}; --config names another`;

/** `undefined` when nobody names a file and none is found. A named file need not exist. */
export function findConfig(context: SearchContext): FoundConfig | undefined {
  if (context.flag !== undefined) return { file: context.flag, by: "--config" };
  if (context.env.CARDEA_CONFIG) return { file: context.env.CARDEA_CONFIG, by: "CARDEA_CONFIG" };
  const file = searchPaths(context).find((place) => isFile(join(absoluteIn(context.cwd, place))));
  return file === undefined ? undefined : { file, by: "discovery" };
}

const absoluteIn = (folder: string, path: string): string =>
  path.startsWith("/") || /^[A-Za-z]:/.test(path) ? path : join(folder, path);

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
