/** Which version of a package has npm installed for `npx`, or the project of the working directory? */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isObject } from "../../wire/json.js";
import type { PackageStart } from "./package-start.js";

/** An installed package. */
export interface Installed {
  readonly version: string;
  /** The folder that has `node_modules`. */
  readonly folder: string;
  /** The program that runs it; undefined if its package has several and none of its own name. */
  readonly program: string | undefined;
}

/** The start line and its environment. */
interface Place {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Of a line of `npx` or `npm exec`; undefined if npm has installed nothing for it. */
export function installedFor(
  { all, name, isNamed, rest }: PackageStart,
  place: Place,
): Installed | undefined {
  // npm names the folder by the packages of the line.
  const key = [...all].sort((a, b) => a.localeCompare(b, "en")).join("\n");
  const folder = join(
    cacheFolder(place),
    "_npx",
    createHash("sha512").update(key).digest("hex").slice(0, 16),
  );
  return installedIn(folder, name, isNamed ? rest[0] : undefined);
}

/** In the project of the working directory, which `npx` prefers, unless the line has another exact version. */
export function installedInProject({ name, pin }: PackageStart, { cwd }: Place): Installed | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const found = installedIn(folder, name, undefined);
    if (found !== undefined) return pin === undefined || pin === found.version ? found : undefined;
    if (dirname(folder) === folder) return undefined;
  }
}

/** The packages in the folder whose install scripts npm knows of, at most ten. */
export function packagesWithScripts(folder: string): readonly string[] {
  const lock = readObject(join(folder, "node_modules", ".package-lock.json"));
  const packages = isObject(lock?.packages) ? Object.entries(lock.packages) : [];
  return packages
    .filter(([, one]) => isObject(one) && one.hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length))
    .slice(0, 10);
}

function installedIn(folder: string, name: string, command: string | undefined): Installed | undefined {
  const own = readObject(join(folder, "node_modules", name, "package.json"));
  if (typeof own?.version !== "string") return undefined;
  const word = command ?? programOf(own, name);
  const program = word === undefined ? undefined : join(folder, "node_modules", ".bin", word);
  return {
    version: own.version,
    folder,
    program: program !== undefined && existsSync(program) ? program : undefined,
  };
}

/** As npm chooses it: the only one, or the one with the name of the package. */
function programOf({ bin }: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const own = name.replace(/^@[^/]+\//, "");
  if (typeof bin === "string") return own;
  const words = isObject(bin) ? Object.keys(bin) : [];
  return words.length === 1 ? words[0] : words.find((word) => word === own);
}

function cacheFolder({ env }: Place): string {
  const set = Object.entries(env).find(([name]) => name.toLowerCase() === "npm_config_cache")?.[1];
  if (set !== undefined && set !== "") return set;
  const home = env.HOME ?? homedir();
  const inFile = /^\s*cache\s*=\s*(\S.*)$/m.exec(readText(join(home, ".npmrc")) ?? "")?.[1];
  if (inFile !== undefined) return inFile.trim().replace(/^~|^\$\{HOME\}/, home);
  if (process.platform === "win32") return join(process.env.LOCALAPPDATA ?? home, "npm-cache");
  return join(home, ".npm");
}

function readObject(file: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(readText(file) ?? "null");
    return isObject(value) ? value : undefined;
  } catch {
    // npm writes these files; a broken one is as good as none.
    return undefined;
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
