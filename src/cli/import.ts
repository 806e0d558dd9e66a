/** `cardea import`: converts a host's config to Cardea's and prints it. */
import { resolve } from "node:path";
import { formatProblem, SourcePositions } from "../config/problem.js";
import { readConfig } from "../config/read.js";
import type { Section } from "../config/section.js";
import { variablesIn } from "../config/template.js";
import { readErrorMessage, readTextFile, readTextStream } from "../config/text-file.js";
import { askForUnset, fillVariable, isSecretVariable } from "./ask-variables.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { copiedSecrets, withoutSecrets } from "./copied-secrets.js";
import { ANY_VARIABLE } from "./edit-config.js";
import { EXIT } from "./exit.js";
import { sectionsOf } from "./feature.js";
import { isFlagSet } from "./flags.js";
import { importText } from "./host-files/import-text.js";
import { type Imported, type ImportedServer, withUniquePrefixes } from "./host-files/imported.js";
import { canPrompt } from "./prompt.js";

/** Prints a host's config as Cardea's. Returns the exit code. */
export async function importConfig(
  file: string,
  shell: CommandContext,
  flags: { readonly plain?: boolean } = {},
): Promise<number> {
  const log = await shell.openLog();
  const name = file === "-" ? "standard input" : file;
  const source = await readSource(file, shell, log);
  if (source === undefined) return EXIT.failed;
  const sections = await sectionsOf(shell.features);
  const { imported, faults } = importText(source, file === "-" ? undefined : resolve(shell.cwd, file), {
    isTaken: (variable) => shell.env[variable] !== undefined,
    sections,
  });
  const problems = new SourcePositions(name, source).problems(faults);
  if (imported === undefined) {
    for (const problem of problems) log.error({}, formatProblem(problem));
    if (problems.length === 0) log.error({ file: name }, `no servers were found in ${name}`);
    return EXIT.config;
  }
  for (const problem of problems) log.warn({}, formatProblem(problem));
  for (const note of imported.notes) log.warn({}, note);
  const isPlain = isFlagSet(flags.plain, "CARDEA_PLAIN", shell.env);
  const filled = file !== "-" && canPrompt(shell) ? await fill(imported, isPlain, shell) : imported;
  const output = format(isPlain ? filled : apart(filled, shell, log), name);
  warnOfUnsupported(output, sections, log);
  if (isPlain) warnOfSecrets(filled.servers, log);
  await write(shell.stdout, output);
  return EXIT.done;
}

/** What the person at the terminal types, in place of variables. Secrets are asked for only if they are printed. */
async function fill(imported: Imported, isPlain: boolean, shell: CommandContext): Promise<Imported> {
  const asked = imported.variables.filter((variable) => isPlain || !isSecretVariable(variable));
  const given = await askForUnset(asked, shell);
  const values = new Map([...given].map(([name, value]) => [name, [value]] as const));
  return {
    ...imported,
    servers: new Map([...imported.servers].map(([name, server]) => [name, fillVariable(server, values)])),
    variables: imported.variables.filter(({ name }) => !given.has(name)),
  };
}

/** Variables in place of plaintext secrets: what is printed is written into a config. */
function apart(imported: Imported, shell: CommandContext, log: Log): Imported {
  const used = new Set(variablesIn([...imported.servers.values()]).map((each) => each.replace(/:-.*$/s, "")));
  const variables = [...imported.variables];
  const freeName = (wanted: string): string => {
    let name = wanted;
    for (let count = 2; used.has(name) || shell.env[name] !== undefined; count += 1)
      name = `${wanted}_${count}`;
    used.add(name);
    return name;
  };
  const servers = [...imported.servers].map(([name, server]): [string, ImportedServer] => {
    const { server: plain, secrets } = withoutSecrets(name, server, freeName);
    if (secrets.size > 0) {
      const names = [...secrets.keys()].join(", ");
      log.warn(
        { server: name },
        `server ${JSON.stringify(name)}: a secret is not printed: set ${names}; --plain prints it, and "cardea init --from" keeps it in an env file`,
      );
      for (const variable of secrets.keys()) variables.push({ name: variable });
    }
    return [name, plain];
  });
  return { ...imported, servers: new Map(servers), variables };
}

/** Names each plaintext secret in the imported servers. */
function warnOfSecrets(servers: Imported["servers"], log: Log): void {
  for (const [name, server] of servers) {
    const places = copiedSecrets(server);
    if (places.length === 0) continue;
    const what =
      places.length === 1 ? `the secret in ${places[0]} is` : `the secrets in ${places.join(", ")} are`;
    log.warn(
      { server: name },
      `server ${JSON.stringify(name)}: ${what} copied as plain text; a variable keeps it out of the file: \${NAME} or \${file:/path}`,
    );
  }
}

async function readSource(file: string, shell: CommandContext, log: Log): Promise<string | undefined> {
  try {
    const source =
      file === "-" ? await readTextStream(shell.stdin) : await readTextFile(resolve(shell.cwd, file));
    return source.replace(/^\uFEFF/, "");
  } catch (error) {
    log.error({ file }, `${file} cannot be read: ${readErrorMessage(error)}`);
    return undefined;
  }
}

function format({ servers: found, variables }: Imported, name: string): string {
  const servers = withUniquePrefixes(found);
  const comments = [
    `// Imported from ${oneLine(name)}.`,
    ...(variables.length > 0 ? ["// Environment variables that must be set:"] : []),
    ...variables.map(
      ({ name: variable, about, isOptional }) =>
        `//   ${variable}${isOptional === true ? " (optional)" : ""}${about === undefined ? "" : `: ${oneLine(about)}`}`,
    ),
  ];
  return `${comments.join("\n")}\n${JSON.stringify({ mcpServers: Object.fromEntries(servers) }, null, 2)}\n`;
}

/** Settings that the host accepts and Cardea does not; every variable counts as set. */
function warnOfUnsupported(output: string, sections: readonly Section[], log: Log): void {
  const loaded = readConfig(output, "the imported config", {
    ...{ env: ANY_VARIABLE, sections, readFile: () => "" },
  });
  for (const problem of loaded.problems) log.warn({}, formatProblem(problem));
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
