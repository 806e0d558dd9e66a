/** Finds the config file: the flag, the environment, this folder, the person's own folder, in that order. */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export interface Whereabouts {
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
export function searchedPlaces({ env }: Pick<Whereabouts, "env">): readonly string[] {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return [...NAMES, ".mcp.json", ...NAMES.map((name) => join(config, "cardea", name))];
}

/** What a person is told when none is found. */
export const nowhere = (where: Pick<Whereabouts, "env">): string =>
  `no config file: looked for ${searchedPlaces(where).join(", ")}; --config names another`;

/** `undefined` when nobody names a file and none is found. A named file need not exist. */
export function findConfig(where: Whereabouts): FoundConfig | undefined {
  if (where.flag !== undefined) return { file: where.flag, by: "--config" };
  if (where.env.CARDEA_CONFIG) return { file: where.env.CARDEA_CONFIG, by: "CARDEA_CONFIG" };
  const file = searchedPlaces(where).find((place) => isFile(join(absoluteIn(where.cwd, place))));
  return file === undefined ? undefined : { file, by: "discovery" };
}

const absoluteIn = (folder: string, place: string): string =>
  place.startsWith("/") || /^[A-Za-z]:/.test(place) ? place : join(folder, place);

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
