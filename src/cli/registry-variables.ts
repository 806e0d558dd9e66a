/** Sets the variables of a registry entry: from flags, the environment, or a prompt. */

import { type Piece, parseTemplate, replaceVariables, variablesIn } from "../config/template.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { mayBeSecretName } from "../telemetry/secrets.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import type { ImportedServer, NeededVariable } from "./host-files/imported.js";
import { canPrompt, prompt } from "./prompt.js";
import type { RegistryServer } from "./registry-source.js";

/** The values of `--env` and `--header`, by name. */
export interface RegistryValues {
  readonly env: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
}

/** How variables are filled in. */
export interface FillOptions extends RegistryValues {
  /** Whether variables are taken from the environment without a question. */
  readonly yes: boolean;
  /** Makes the name of a variable unique, under which a secret is kept; undefined if secrets stand in the config. */
  readonly freeName: ((wanted: string) => string) | undefined;
}

/** A server, and the values that are kept apart from it, by the variables that stand for them. */
export interface FilledServer {
  readonly server: ImportedServer;
  readonly secrets: ReadonlyMap<string, string>;
}

/** The server with its values, or the exit code if some are missing, which the log names. */
export async function fillVariables(
  { server, variables }: RegistryServer,
  { env, headers, yes, freeName }: FillOptions,
  shell: CommandContext,
  log: Log,
): Promise<FilledServer | number> {
  const filled = withGiven(server, { env, headers });
  const used = new Set(variablesIn(filled));
  const wanted = variables.filter(({ name }) => used.has(name) && !env.has(name));
  const values = new Map<string, readonly Piece[]>();
  // What a person writes on the command line is the language of the config.
  for (const [name, value] of env) values.set(name, parseTemplate(value));
  const missing = wanted.filter(({ name }) => !yes || (shell.env[name] ?? "") === "");
  if (missing.length > 0 && !canPrompt(shell)) {
    for (const variable of missing) {
      const { name } = variable;
      const isSet = (shell.env[name] ?? "") !== "";
      const how = isSet ? "--yes takes it from the environment" : "set it in the environment and give --yes";
      log.error({}, `${describe(variable)} is asked for: give --env ${name}=VALUE, or ${how}`);
    }
    return EXIT.usage;
  }
  for (const variable of missing) {
    const question = `${describe(variable)}, or Enter to take it from the environment: `;
    const answer = await prompt(escapeHidden(question), shell, { hidden: isSecret(variable) });
    if (answer !== "") values.set(variable.name, [answer]);
  }
  const taken = wanted.filter(({ name }) => !values.has(name)).map(({ name }) => name);
  if (taken.length > 0) log.info({}, `from the environment, when the gateway starts: ${taken.join(", ")}`);
  const secrets = new Map<string, string>();
  for (const variable of variables.filter(isSecret)) {
    const [value, ...others] = values.get(variable.name) ?? [];
    if (freeName === undefined || typeof value !== "string" || others.length > 0) continue;
    const name = freeName(variable.name);
    secrets.set(name, value);
    values.set(variable.name, [{ variable: name }]);
  }
  return { server: replaceVariables(filled, (name) => values.get(name)) as ImportedServer, secrets };
}

const isSecret = ({ name, isSecret: isDeclared }: NeededVariable): boolean =>
  isDeclared === true || mayBeSecretName(name);

const describe = ({ name, about }: NeededVariable): string =>
  about === undefined ? name : `${name} (${about.replace(/\s+/g, " ")})`;

/** `--env` and `--header` override the entry; an `--env` that the entry does not have is added. */
function withGiven(server: ImportedServer, { env, headers }: RegistryValues): ImportedServer {
  const used = new Set(variablesIn(server));
  const more = [...env].filter(([name]) => !used.has(name));
  const isStarted = "command" in server;
  return {
    ...server,
    ...(isStarted && more.length > 0 && { env: { ...recordOf(server.env), ...Object.fromEntries(more) } }),
    ...(!isStarted &&
      headers.size > 0 && { headers: { ...recordOf(server.headers), ...Object.fromEntries(headers) } }),
  };
}

const recordOf = (value: unknown): object => (typeof value === "object" && value !== null ? value : {});
