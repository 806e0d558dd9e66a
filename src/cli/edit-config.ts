/** Edits a config file; an edit with an invalid result is not written. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { checkSections } from "../config/check-sections.js";
import { findConfig } from "../config/find.js";
import { writeErrorMessage } from "../config/load.js";
import { formatProblem, type Problem } from "../config/problem.js";
import { readConfig } from "../config/read.js";
import { readErrorMessage, readTextFile } from "../config/text-file.js";
import { agreeToOwn } from "./agreement.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import { sectionsOf } from "./feature.js";
import { type ConfigEdit, EditError, editConfig, replaceFile } from "./host-files/edit.js";

/** A config to edit. */
export interface EditableConfig {
  /** As named by the person, or as discovered. */
  readonly file: string;
  readonly path: string;
  /** `undefined` if there is no such file. */
  readonly text: string | undefined;
}

/**
 * The config that other commands would use. Without one: `cardea.jsonc` in the working directory. `undefined` if it
 * cannot be read.
 */
export async function findEditable(
  flag: string | undefined,
  shell: CommandContext,
  log: Log,
): Promise<EditableConfig | undefined> {
  const file = findConfig({ flag, env: shell.env, cwd: shell.cwd })?.file ?? "cardea.jsonc";
  const path = resolve(shell.cwd, file);
  try {
    return { file, path, text: await readTextFile(path) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      return { file, path, text: undefined };
    log.error({ file }, `${file} cannot be read: ${readErrorMessage(error)}`);
    return undefined;
  }
}

/** Applies the edits and writes the file. Returns the exit code; the log has the reasons for any except 0. */
export async function changeConfig(
  { file, path, text }: EditableConfig,
  edits: readonly ConfigEdit[],
  shell: CommandContext,
  log: Log,
): Promise<number> {
  const before = text ?? "{}\n";
  let after: string;
  try {
    after = editConfig(before, file, edits);
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    for (const problem of await syntaxProblems(before, file, shell)) log.error({}, formatProblem(problem));
    log.error({ file }, `${file} was not changed: ${error.message}`);
    return EXIT.config;
  }
  const problems = await newProblems(before, after, file, shell, ANY_VARIABLE);
  if (problems.length > 0) {
    for (const problem of problems) log.error({}, formatProblem(problem));
    log.error({ file }, `${file} was not changed, because it would be invalid`);
    return EXIT.config;
  }
  try {
    if (text === undefined) await writeFile(path, after, { flag: "wx", mode: 0o600 });
    else await replaceFile(path, { before: text, after });
  } catch (error) {
    if (error instanceof EditError) log.error({ file }, `${file} was not changed: ${error.message}`);
    else log.error({ file }, `${file} cannot be written: ${writeErrorMessage(error)}`);
    return EXIT.failed;
  }
  await agreeToOwn(path, { before: text, after }, shell, log);
  // Variables that are unset only now are reported, but do not prevent the edit.
  for (const problem of await newProblems(before, after, file, shell, shell.env))
    log.warn({}, formatProblem(problem));
  return EXIT.done;
}

async function syntaxProblems(
  text: string,
  file: string,
  { cwd, features }: CommandContext,
): Promise<readonly Problem[]> {
  const sections = await sectionsOf(features);
  const read = readConfig(text, file, { env: ANY_VARIABLE, cwd, sections, readFile: () => "" });
  return read.problems;
}

/** The problems that the edit introduces. */
async function newProblems(
  before: string,
  after: string,
  file: string,
  shell: CommandContext,
  env: CommandContext["env"],
): Promise<readonly Problem[]> {
  const problemsOf = async (text: string): Promise<readonly Problem[]> => {
    const sections = await sectionsOf(shell.features);
    const readWith = { env, cwd: shell.cwd, sections, ...(env === ANY_VARIABLE && { readFile: () => "" }) };
    const read = await checkSections(readConfig(text, file, readWith));
    return read.problems;
  };
  const known = new Set((await problemsOf(before)).map(({ message }) => message));
  return (await problemsOf(after)).filter(({ message }) => !known.has(message));
}

/** An environment in which every variable is set. */
export const ANY_VARIABLE = new Proxy<Record<string, string>>(
  {},
  {
    get: () => "https://example.com",
    getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: "" }),
  },
);
