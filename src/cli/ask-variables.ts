/** Asks the person at the terminal for the variables that servers need and that the environment does not have. */

import { type Piece, replaceVariables } from "../config/template.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { mayBeSecretName } from "../telemetry/secrets.js";
import type { CommandContext } from "./command-context.js";
import type { ImportedServer, NeededVariable } from "./host-files/imported.js";
import { prompt } from "./prompt.js";

/** Whether the value of a variable must be neither echoed nor printed. */
export const isSecretVariable = ({ name, isSecret = false }: NeededVariable): boolean =>
  isSecret || mayBeSecretName(name);

/** What a person types; a variable with a default, or that the environment has, is not asked for. */
export async function askForUnset(
  variables: readonly NeededVariable[],
  shell: CommandContext,
): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  for (const variable of variables) {
    const { name, about, isOptional = false } = variable;
    if (isOptional || (shell.env[name] ?? "") !== "") continue;
    const question = `${name}${about === undefined ? "" : ` (${oneLine(about)})`}, or Enter to take it from the environment: `;
    const answer = await prompt(escapeHidden(question), shell, { hidden: isSecretVariable(variable) });
    if (answer !== "") values.set(name, answer);
  }
  return values;
}

/** The server with other parts in place of its variables, by their names. */
export const fillVariable = (
  server: ImportedServer,
  values: ReadonlyMap<string, readonly Piece[]>,
): ImportedServer =>
  replaceVariables(server, (variable) => values.get(variable.replace(/:-.*$/s, ""))) as ImportedServer;

const oneLine = (text: string): string => escapeHidden(text.replace(/\s+/g, " "));
