/** `cardea init`: writes a config with the servers of the installed hosts. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { writeErrorMessage } from "../config/load.js";
import { type Piece, variablesIn } from "../config/template.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { freeNames } from "./add.js";
import { refined } from "./added-entry.js";
import { agreeToOwn } from "./agreement.js";
import { askForUnset, fillVariable } from "./ask-variables.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { copiedSecrets, withoutSecrets } from "./copied-secrets.js";
import { EXIT, UsageError } from "./exit.js";
import { sectionsOf } from "./feature.js";
import { booleanVariable, isFlagSet, linesOf } from "./flags.js";
import { editConfig } from "./host-files/edit.js";
import { hostPathContext } from "./host-files/host-paths.js";
import type { ImportedServer, NeededVariable } from "./host-files/imported.js";
import { KNOWN_HOSTS } from "./host-files/known-hosts.js";
import { existingHostFiles, type HostServers, mergeServers, readServersOf } from "./host-servers.js";
import { canPrompt, confirm } from "./prompt.js";
import { keepSecrets, type SecretFile, secretFileOf } from "./secret-file.js";
import { selfCommand, shellWord } from "./self-command.js";

/** The flags of `cardea init`. */
export interface InitFlags {
  readonly from?: readonly string[];
  readonly out?: string;
  readonly yes?: boolean;
  readonly plain?: boolean;
}

/** Returns the exit code: 1 if the file exists already, or one named by `--from` cannot be read. */
export async function init(flags: InitFlags, shell: CommandContext): Promise<number> {
  const file = flags.out ?? (shell.env.CARDEA_OUT || "cardea.jsonc");
  if (!/\.(?:jsonc?|ya?ml)$/i.test(file)) throw new UsageError("--out takes a .jsonc, .json or .yaml file");
  const asks = !(flags.yes ?? booleanVariable(shell.env, "CARDEA_YES") ?? false) && canPrompt(shell);
  const log = await shell.openLog();
  const path = resolve(shell.cwd, file);
  if (existsSync(path)) {
    log.error(
      { file },
      `${file} exists already and is not overwritten; --out names another file, "cardea add" adds a server to it`,
    );
    return EXIT.failed;
  }
  const from = linesOf(flags.from, shell.env.CARDEA_FROM);
  const found = await findServers(from, asks, shell, log);
  if (found === undefined) return EXIT.failed;
  const merged = mergeServers(found, log, await sectionsOf(shell.features));
  const { variables, sources } = merged;
  const isPlain = isFlagSet(flags.plain, "CARDEA_PLAIN", shell.env);
  const secretFile = isPlain ? undefined : await secretFileOf(path, undefined);
  if (typeof secretFile === "string") {
    log.error({ file }, `${secretFile}; --plain writes secrets into ${file}`);
    return EXIT.failed;
  }
  const given = asks ? await askForUnset(variables, shell) : new Map<string, string>();
  const refinedServers = await Promise.all(
    [...merged.servers].map(
      async ([name, server]) => [name, await refined(name, server, { flags }, shell, log)] as const,
    ),
  );
  const { servers, secrets } = apart(new Map(refinedServers), given, secretFile, shell);
  const text = await initialConfig(
    { servers, variables: variables.filter(({ name }) => !given.has(name)), sources },
    file,
    secrets.size === 0 ? undefined : secretFile?.name,
  );
  if (asks && !(await confirm(`Write ${file} with ${countOf(servers.size)}?`, shell))) {
    await write(shell.stderr, "nothing was written\n");
    return EXIT.done;
  }
  try {
    if (secretFile !== undefined && secrets.size > 0) await keepSecrets(secretFile, secrets, log);
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    log.error({ file }, `${file} cannot be written: ${writeErrorMessage(error)}`);
    return EXIT.failed;
  }
  await agreeToOwn(path, { before: undefined, after: text }, shell, log);
  for (const [name, server] of servers) {
    const secrets = copiedSecrets(server);
    if (secrets.length === 0) continue;
    log.warn(
      { server: name },
      `server ${JSON.stringify(name)}: ${file} now holds a secret as plain text (${secrets.join(", ")}); \${NAME} takes it from the environment`,
    );
  }
  const needed = variables.filter(({ name }) => !given.has(name));
  const fromEnvironment = needed.filter(({ name }) => (shell.env[name] ?? "") !== "").map(({ name }) => name);
  if (fromEnvironment.length > 0)
    log.info({}, `from the environment, when the gateway starts: ${fromEnvironment.join(", ")}`);
  const unset = needed
    .filter(({ name, isOptional }) => isOptional !== true && (shell.env[name] ?? "") === "")
    .map(({ name }) => name);
  if (unset.length > 0) {
    log.warn(
      {},
      `set ${unset.join(", ")} in the environment before the gateway starts: ${file} takes ${unset.length === 1 ? "it" : "them"} from there`,
    );
  }
  await write(shell.stdout, nextSteps(file, path, [...servers.keys()], sources));
  return EXIT.done;
}

/** The servers with the typed values, secrets apart. Without an env file all of them stand in the config. */
function apart(
  found: ReadonlyMap<string, ImportedServer>,
  given: ReadonlyMap<string, string>,
  file: SecretFile | undefined,
  shell: CommandContext,
) {
  // What was typed stands for its variable in all servers, so that it keeps the name.
  const used = variablesIn([...found.values()])
    .map((variable) => variable.replace(/:-.*$/s, ""))
    .filter((name) => !given.has(name));
  const freeName =
    file &&
    freeNames(
      { ...file, variables: { ...file.variables, ...Object.fromEntries(used.map((name) => [name, ""])) } },
      undefined,
      shell,
    );
  const secrets = new Map<string, string>();
  const typed = new Map<string, readonly Piece[]>();
  for (const [name, value] of given) {
    const kept = freeName?.(name);
    if (kept !== undefined) secrets.set(kept, value);
    typed.set(name, [kept === undefined ? value : { variable: kept }]);
  }
  const servers = [...found].map(([name, server]): [string, ImportedServer] => {
    const filled = fillVariable(server, typed);
    if (freeName === undefined) return [name, filled];
    const moved = withoutSecrets(name, filled, freeName);
    for (const [variable, value] of moved.secrets) secrets.set(variable, value);
    return [name, moved.server];
  });
  return { servers: new Map(servers), secrets };
}

/** The files named by `--from`, otherwise those of installed hosts; at a terminal the person may deselect some. */
async function findServers(
  from: readonly string[],
  asks: boolean,
  shell: CommandContext,
  log: Log,
): Promise<readonly HostServers[] | undefined> {
  if (from.length > 0) {
    const named = await Promise.all(
      from.map((file) => readServersOf({ file: resolve(shell.cwd, file), title: file }, shell, log)),
    );
    const missing = from.filter((_, at) => named[at] === undefined);
    for (const file of missing) log.error({ file }, `no servers were found in ${file}`);
    return missing.length > 0 ? undefined : named.filter((each) => each !== undefined);
  }
  const found: HostServers[] = [];
  for (const host of existingHostFiles(hostPathContext(shell.env), shell.cwd)) {
    const servers = await readServersOf(host, shell, log);
    if (servers === undefined || servers.imported.servers.size === 0) continue;
    const names = [...servers.imported.servers.keys()].join(", ");
    const question = `${host.title} (${host.file}) has ${names}. Take them?`;
    if (!asks || (await confirm(question, shell))) found.push(servers);
  }
  if (found.length === 0)
    log.warn(
      {},
      'no host with servers was found here; --from names the file of one, "cardea add" adds servers',
    );
  return found;
}

function nextSteps(file: string, path: string, names: readonly string[], sources: readonly string[]): string {
  const { shown } = selfCommand();
  const config = shellWord(path);
  const width = Math.max(...KNOWN_HOSTS.map(({ title }) => title.length));
  const from = sources.length === 0 ? "" : `, from ${sources.join(", ")}`;
  const list = names.length === 0 ? "" : ` (${names.join(", ")})`;
  const first =
    names.length === 0
      ? `Add a server first:\n  ${shown} add memory --config ${config} -- npx -y @modelcontextprotocol/server-memory`
      : `Try it:\n  ${shown} doctor --config ${config}`;
  const hosts = KNOWN_HOSTS.map(
    ({ id, title }) => `  ${title.padEnd(width)}  ${shown} install ${id} --config ${config}`,
  );
  return `wrote ${file}: ${countOf(names.length)}${list}${from}

${first}

Connect a host (writes one entry into its file and keeps a backup; --dry-run shows it first):
${hosts.join("\n")}

Any other host, by a command that it starts:
  ${shown} stdio --config ${config}
or by the URL http://127.0.0.1:8080/mcp, while this runs:
  ${shown} serve --config ${config}
`;
}

const countOf = (count: number): string => (count === 1 ? "1 server" : `${count} servers`);

/** Commands that download a package or image that is not cached. */
const FETCHING = /(^|[\\/])(npx|bunx|pnpx|uvx|pipx|docker|podman)(\.(cmd|exe))?$/i;
/** Three packages fetched at once on two busy cores took 18 s; hosts wait 60 s for a list. */
const FETCHED_STARTUP_WAIT = "45s";

/** The text, in the format of `file`'s extension; `.json` has no comments. */
async function initialConfig(
  {
    servers,
    variables,
    sources,
  }: {
    readonly servers: ReadonlyMap<string, ImportedServer>;
    readonly variables: readonly NeededVariable[];
    readonly sources: readonly string[];
  },
  file: string,
  envFile: string | undefined,
): Promise<string> {
  const needed = variables.map(
    ({ name, about, isOptional }) =>
      `  ${name}${isOptional === true ? " (optional)" : ""}${about === undefined ? "" : `: ${oneLine(about)}`}`,
  );
  const isFetched = [...servers.values()].some(
    ({ command }) => typeof command === "string" && FETCHING.test(command),
  );
  const settings = {
    ...(envFile !== undefined && { envFile }),
    ...(isFetched && { startupWait: FETCHED_STARTUP_WAIT }),
  };
  const comments = [
    'The config of Cardea, which config/reference.md in the package describes; "cardea check" says what is wrong with it.',
    '"cardea add NAME -- npx -y some-package" adds a server, "cardea add NAME https://host/mcp" one at a URL.',
    ...(sources.length > 0 ? [`The servers are from ${oneLine(sources.join(", "))}.`] : []),
    ...(isFetched
      ? [
          "startupWait: the first list of a host waits this long for servers whose packages are fetched at their first start.",
        ]
      : []),
    ...(needed.length > 0 ? ["Environment variables that must be set:", ...needed] : []),
  ];
  if (/\.ya?ml$/i.test(file)) {
    const { stringify } = await import("yaml");
    const body = stringify({ ...settings, mcpServers: Object.fromEntries(servers) }, { lineWidth: 0 });
    return `${comments.map((line) => `# ${line}\n`).join("")}${body}`;
  }
  const edits = [...servers].map(([name, server]) => ({ path: ["mcpServers", name], value: server }));
  const body = editConfig(
    `${JSON.stringify({ ...settings, mcpServers: {} }, null, 2)}\n`,
    "cardea.jsonc",
    edits,
  );
  return /\.json$/i.test(file) ? body : `${comments.map((line) => `// ${line}\n`).join("")}${body}`;
}

const oneLine = (text: string): string => escapeHidden(text.replace(/\s+/g, " "));
