/** The paths of hosts' config files, by operating system. */
import { existsSync } from "node:fs";
import { posix, win32 } from "node:path";
import { homeFolder } from "../../config/home-folder.js";

/** The inputs of the paths. */
export interface HostPathContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home folder of the user. */
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/** The inputs for this process's user. */
export const hostPathContext = (env: HostPathContext["env"]): HostPathContext => ({
  env,
  home: homeFolder(env),
  platform: process.platform,
});

/** A file below the home folder. */
export const inHome = ({ home, platform }: HostPathContext, ...steps: readonly string[]): string =>
  pathOf(platform).join(home, ...steps);

/**
 * A file of an application: below `%APPDATA%` on Windows, `~/Library/Application Support` on macOS, `$XDG_CONFIG_HOME` on
 * Linux, where an application that ignores the variable uses `~/.config`.
 */
export function inAppData(places: HostPathContext, ...steps: readonly string[]): readonly string[] {
  const { env, platform } = places;
  if (platform === "win32") {
    return [env.APPDATA ? win32.join(env.APPDATA, ...steps) : inHome(places, "AppData", "Roaming", ...steps)];
  }
  if (platform === "darwin") return [inHome(places, "Library", "Application Support", ...steps)];
  return inConfig(places, ...steps);
}

/** A file below `$XDG_CONFIG_HOME`, or `~/.config`, on every system. */
export function inConfig(places: HostPathContext, ...steps: readonly string[]): readonly string[] {
  const { env, platform } = places;
  const plain = inHome(places, ".config", ...steps);
  return env.XDG_CONFIG_HOME ? [pathOf(platform).join(env.XDG_CONFIG_HOME, ...steps), plain] : [plain];
}

/** The first existing file, otherwise the first. */
export function firstPresent(files: readonly string[]): {
  readonly file: string;
  readonly isPresent: boolean;
} {
  const present = files.find((file) => existsSync(file));
  return { file: present ?? files[0] ?? "", isPresent: present !== undefined };
}

const pathOf = (platform: NodeJS.Platform) => (platform === "win32" ? win32 : posix);
