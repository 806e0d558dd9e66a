/** Keeps secrets in an env file beside the config, which git ignores, and which only its user can read. */
import { randomBytes } from "node:crypto";
import { lstatSync } from "node:fs";
import { appendFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { envFileLine, parseEnvFile } from "../config/env-file.js";
import { readErrorMessage, readTextFile } from "../config/text-file.js";
import type { Log } from "./command-context.js";
import { workTreeOf } from "./git-index.js";

/** An env file, and what it has. */
export interface SecretFile {
  readonly path: string;
  /** As the config names it, relative to its folder. */
  readonly name: string;
  /** Undefined if there is none yet. */
  readonly text: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * The env file of a config: the one that it names, else one of its own name.
 *
 * @returns why it cannot be used, as a sentence, if it is no file of its own
 */
export async function secretFileOf(config: string, named: string | undefined): Promise<SecretFile | string> {
  const own = `${basename(config, extname(config))}.env`;
  const path = resolve(dirname(config), named ?? own);
  const name = named ?? `./${own}`;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { path, name, text: undefined, variables: {} };
  // A link in a cloned folder could lead anywhere.
  if (!stats.isFile()) return `${path} is no file, so that no secret is written to it`;
  try {
    const text = await readTextFile(path);
    return { path, name, text, variables: parseEnvFile(text) };
  } catch (error) {
    return `${path} cannot be read: ${readErrorMessage(error)}`;
  }
}

/**
 * Adds variables to the file and closes it to other users. @returns the function that takes them out again
 *
 * @throws the error of the system
 */
export async function keepSecrets(
  { path, text }: SecretFile,
  secrets: ReadonlyMap<string, string>,
  log: Log,
): Promise<() => Promise<void>> {
  const before = text ?? "# Variables of the config beside it. Secret: not for git.\n";
  const lines = [...secrets].map(([name, value]) => envFileLine(name, value)).join("");
  await replace(path, `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${lines}`);
  log.info(
    { file: path },
    `${basename(path)} has ${[...secrets.keys()].join(", ")}; only its owner can read it`,
  );
  await ignoreInGit(path, log);
  return async () => {
    if (text === undefined) await rm(path, { force: true });
    else await replace(path, text);
  };
}

async function replace(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: "wx" });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Adds the file to the `.gitignore` of its folder, inside of a git work tree only. */
async function ignoreInGit(path: string, log: Log): Promise<void> {
  const folder = dirname(path);
  if (workTreeOf(folder) === undefined) return;
  const file = join(folder, ".gitignore");
  const line = `/${relative(folder, path)}`;
  const stats = lstatSync(file, { throwIfNoEntry: false });
  try {
    // Git does not follow such a link either.
    if (stats !== undefined && !stats.isFile()) throw new Error("it is no file");
    const text = stats === undefined ? "" : await readTextFile(file);
    if (text.split(/\r?\n/).includes(line)) return;
    await appendFile(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`);
    log.info({ file }, `.gitignore has ${line} now`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    log.warn(
      { file },
      `${file} cannot be written (${why}): do not commit ${basename(path)}, which has secrets`,
    );
  }
}
