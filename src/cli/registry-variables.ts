/** Sets the variables of a registry entry: from flags, the environment, or a prompt. */
import type { ImportedServer } from "../config/import/imported.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import { canPrompt, prompt } from "./prompt.js";
import type { RegistryServer } from "./registry-source.js";

/** The values of `--env` and `--header`, by name. */
export interface RegistryValues {
  readonly env: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
}

/** The server with its values, or the exit code if some are missing, which the log names. */
export async function fillVariables(
  { server, variables }: RegistryServer,
  { env, headers }: RegistryValues,
  shell: CommandContext,
  log: Log,
): Promise<ImportedServer | number> {
  const filled = withGiven(server, { env, headers });
  const text = JSON.stringify(filled);
  const missing = variables.filter(
    ({ name }) => text.includes(`\${${name}}`) && !env.has(name) && (shell.env[name] ?? "") === "",
  );
  const values = new Map(env);
  if (missing.length > 0 && !canPrompt(shell)) {
    for (const { name, about } of missing) {
      log.error(
        {},
        `${name} is missing${about === undefined ? "" : ` (${about})`}: set it in the environment, or give --env ${name}=VALUE`,
      );
    }
    return EXIT.usage;
  }
  for (const { name, about } of missing) {
    const answer = await prompt(
      `${name}${about === undefined ? "" : ` (${about})`}, or Enter to take it from the environment: `,
      shell,
    );
    if (answer !== "") values.set(name, answer);
  }
  return replaced(filled, values) as ImportedServer;
}

/** `--env` and `--header` override the entry; an `--env` that the entry does not have is added. */
function withGiven(server: ImportedServer, { env, headers }: RegistryValues): ImportedServer {
  const text = JSON.stringify(server);
  const more = [...env].filter(([name]) => !text.includes(`\${${name}}`));
  const isStarted = "command" in server;
  return {
    ...server,
    ...(isStarted && more.length > 0 && { env: { ...recordOf(server.env), ...Object.fromEntries(more) } }),
    ...(!isStarted &&
      headers.size > 0 && { headers: { ...recordOf(server.headers), ...Object.fromEntries(headers) } }),
  };
}

const recordOf = (value: unknown): object => (typeof value === "object" && value !== null ? value : {});

function replaced(value: unknown, values: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{(\w+)\}/g, (found, name: string) => values.get(name) ?? found);
  }
  if (Array.isArray(value)) return value.map((item) => replaced(item, values));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner, values)]));
}
