/** `cardea add`: adds a server to the config: a command, a URL, or a registry entry. */
import { dirname } from "node:path";
import { isHostFile } from "../config/host-config-file.js";
import { writeErrorMessage } from "../config/load.js";
import { parse } from "../config/open-file.js";
import { serverNames } from "../config/read-servers.js";
import { isServerKey } from "../config/server-keys.js";
import { variablesIn } from "../config/template.js";
import { type ObjectTree, plainValue } from "../config/tree.js";
import { refined } from "./added-entry.js";
import { isCardAddress, readServerCard } from "./card-source.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { copiedSecrets, withoutSecrets } from "./copied-secrets.js";
import { changeConfig, type EditableConfig, findEditable } from "./edit-config.js";
import { EXIT, UsageError } from "./exit.js";
import { type ConfigFlags, isFlagSet, linesOf } from "./flags.js";
import type { ImportedServer } from "./host-files/imported.js";
import { isRegistryName } from "./registry-name.js";
import { readRegistryEntry } from "./registry-source.js";
import { type FilledServer, fillVariables, type RegistryValues } from "./registry-variables.js";
import { keepSecrets, type SecretFile, secretFileOf } from "./secret-file.js";

/** The flags of `cardea add`. */
export interface AddFlags {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly registry?: string;
  readonly plain?: boolean;
  readonly yes?: boolean;
}

/** The positional arguments: those before and those after `--`. */
export interface AddWords {
  readonly name: string | undefined;
  readonly source: string | undefined;
  readonly command: readonly string[] | undefined;
}

const USAGE = `say what to add:
  cardea add NAME -- npx -y some-package     a server that is started
  cardea add NAME https://host/mcp           a server at a URL
  cardea add https://host/mcp                the same, named by its server card
  cardea add [NAME] server.json              an entry of a registry: file, URL or name`;

/** Returns the exit code: 1 if a server of that name exists, 78 if the config would be invalid. */
export async function add(
  words: AddWords,
  flags: AddFlags & ConfigFlags,
  shell: CommandContext,
): Promise<number> {
  const given = givenValues(flags, shell.env);
  const log = await shell.openLog();
  const target = await findEditable(flags.config, shell, log);
  if (target === undefined) return EXIT.failed;
  const tree = treeOf(target);
  const { file, path } = target;
  // The host of such a file reads no env file of Cardea's.
  const isPlain =
    isFlagSet(flags.plain, "CARDEA_PLAIN", shell.env) || (tree !== undefined && isHostFile(path, tree));
  const secretFile = isPlain ? undefined : await secretFileOf(path, textAt(tree, "envFile"));
  if (typeof secretFile === "string") {
    log.error({ file }, `${secretFile}; --plain writes secrets into ${file}`);
    return EXIT.failed;
  }
  const freeName = secretFile && freeNames(secretFile, tree, shell);
  const found = await newServer(words, given, { flags, tree, target, freeName }, shell, log);
  if (typeof found === "number") return found;
  const { name } = found;
  if (tree !== undefined && serverNames(tree).includes(name)) {
    log.error(
      { file },
      `${file} has a server ${JSON.stringify(name)} already; "cardea remove ${name}" removes it`,
    );
    return EXIT.failed;
  }
  const entry = await refined(name, found.server, { flags, file: tree && plainValue(tree) }, shell, log);
  const key = [...(tree?.members ?? [])].find(
    ([each, { value }]) => isServerKey(each) && value.kind === "object",
  );
  const { server, secrets: moved } =
    freeName === undefined ? { server: entry, secrets: NO_SECRETS } : withoutSecrets(name, entry, freeName);
  const kept = new Map([...found.secrets, ...moved]);
  const edits = [
    { path: [key?.[0] ?? "mcpServers", name], value: server },
    ...(kept.size > 0 && secretFile !== undefined ? [{ path: ["envFile"], value: secretFile.name }] : []),
  ];
  let undo = async (): Promise<void> => {};
  try {
    if (secretFile !== undefined && kept.size > 0) undo = await keepSecrets(secretFile, kept, log);
  } catch (error) {
    log.error({ file }, `${secretFile?.path} cannot be written: ${writeErrorMessage(error)}`);
    return EXIT.failed;
  }
  const code = await changeConfig(target, edits, shell, log);
  if (code !== EXIT.done) {
    await undo();
    return code;
  }
  const secrets = copiedSecrets(server);
  if (secrets.length > 0) {
    log.warn(
      { file },
      `${file} now holds a secret as plain text (${secrets.join(", ")}); \${NAME} takes it from the environment`,
    );
  }
  await write(shell.stdout, `added ${name} to ${file}${target.text === undefined ? ", which is new" : ""}\n`);
  return EXIT.done;
}

/** The inputs that determine the server's transport. */
interface AddContext {
  readonly flags: AddFlags;
  readonly tree: ObjectTree | undefined;
  readonly target: EditableConfig;
  /** Undefined if secrets stand in the config. */
  readonly freeName: ((wanted: string) => string) | undefined;
}

interface NamedServer extends FilledServer {
  readonly name: string;
}

const NO_SECRETS: ReadonlyMap<string, string> = new Map();

/** Names that neither the environment nor the config nor its env file uses: none of them gets another's value. */
export function freeNames(
  { variables }: SecretFile,
  tree: ObjectTree | undefined,
  { env }: CommandContext,
): (wanted: string) => string {
  const used = new Set([
    ...Object.keys(variables),
    ...variablesIn(tree && plainValue(tree)).map((variable) => variable.replace(/^env:|:-.*$/gs, "")),
  ]);
  return (wanted) => {
    let name = wanted;
    for (let count = 2; used.has(name) || env[name] !== undefined; count += 1) name = `${wanted}_${count}`;
    used.add(name);
    return name;
  };
}

/** The server described by the arguments, or the exit code. @throws UsageError */
async function newServer(
  { name, source, command }: AddWords,
  given: RegistryValues,
  { flags, tree, target, freeName }: AddContext,
  shell: CommandContext,
  log: Log,
): Promise<NamedServer | number> {
  if (command !== undefined) {
    if (name === undefined)
      throw new UsageError(`a name is missing: cardea add NAME -- ${command.join(" ")}`);
    if (source !== undefined) throw new UsageError(`unexpected ${source} before --; ${USAGE}`);
    return { name, server: commandServer(command, given, target, shell), secrets: NO_SECRETS };
  }
  if (name === undefined) throw new UsageError(USAGE);
  if (source !== undefined && isAddress(source) && !isEntryAddress(source) && !isCardAddress(source)) {
    return { name, server: urlServer(source, given), secrets: NO_SECRETS };
  }
  const from = source ?? name;
  const yes = isFlagSet(flags.yes, "CARDEA_YES", shell.env);
  if (isAddress(from) && (isCardAddress(from) || !isEntryAddress(from))) {
    const card = URL.canParse(from) ? await readServerCard(from, yes, shell, log) : undefined;
    if (typeof card === "number") return card;
    if (card === undefined)
      throw new UsageError(
        `a name is missing, and ${new URL(from).host} has no server card: cardea add NAME ${from}`,
      );
    const filled = await fillVariables(card, { ...given, yes, freeName }, shell, log);
    return typeof filled === "number" ? filled : { name: source === undefined ? card.name : name, ...filled };
  }
  if (!isAddress(from) && !from.endsWith(".json") && !isRegistryName(from)) {
    if (source === undefined) throw new UsageError(USAGE);
    throw new UsageError(
      `${from} is neither a URL nor a server.json; a command goes after --: cardea add ${name} -- ${from}`,
    );
  }
  const registry = flags.registry ?? (shell.env.CARDEA_REGISTRY || registryOf(tree));
  const entry = await readRegistryEntry(from, registry, shell, log);
  if (typeof entry === "number") return entry;
  const filled = await fillVariables(entry, { ...given, yes, freeName }, shell, log);
  return typeof filled === "number" ? filled : { name: source === undefined ? entry.name : name, ...filled };
}

function commandServer(
  [command = "", ...args]: readonly string[],
  { env, headers }: RegistryValues,
  { path }: EditableConfig,
  { cwd }: CommandContext,
): ImportedServer {
  if (command === "") throw new UsageError("a command is missing after --");
  if (headers.size > 0) throw new UsageError("--header is for servers at a URL; a command takes --env K=V");
  // Relative paths in the config start at its folder, those of the person at the working directory.
  const isElsewhere =
    dirname(path) !== cwd && [command, ...args].some((word) => /^\.{1,2}(?:[/\\]|$)/.test(word));
  return {
    command,
    ...(args.length > 0 && { args }),
    ...(env.size > 0 && { env: Object.fromEntries(env) }),
    ...(isElsewhere && { cwd }),
  };
}

function urlServer(url: string, { env, headers }: RegistryValues): ImportedServer {
  if (env.size > 0)
    throw new UsageError("--env is for servers that are started; a URL takes --header 'Name: value'");
  return { type: "http", url, ...(headers.size > 0 && { headers: Object.fromEntries(headers) }) };
}

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text);

/** Whether the URL is a registry entry, not a server. */
const isEntryAddress = (url: string): boolean =>
  URL.canParse(url) && /\.json$|\/v0[.\d]*\/servers\//.test(new URL(url).pathname);

function registryOf(tree: ObjectTree | undefined): string | undefined {
  return textAt(tree, "registry");
}

function textAt(tree: ObjectTree | undefined, key: string): string | undefined {
  const member = tree?.members.get(key)?.value;
  return member?.kind === "scalar" && typeof member.value === "string" ? member.value : undefined;
}

function treeOf({ file, text }: EditableConfig): ObjectTree | undefined {
  const { tree } = text === undefined ? {} : parse(text.replace(/^\uFEFF/, ""), file);
  return tree?.kind === "object" ? tree : undefined;
}

/** @throws UsageError for a malformed flag; its value is not shown */
function givenValues(flags: AddFlags, variables: CommandContext["env"]): RegistryValues {
  return {
    env: pairs(linesOf(flags.env, variables.CARDEA_ENV), /^([^=\0]+)=(.*)$/s, "--env takes K=V"),
    headers: headersOf(linesOf(flags.header, variables.CARDEA_HEADER)),
  };
}

/** @throws UsageError for a malformed header */
export const headersOf = (lines: readonly string[]): ReadonlyMap<string, string> =>
  pairs(lines, /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*)$/s, "--header takes 'Name: value'");

function pairs(lines: readonly string[], form: RegExp, sentence: string): ReadonlyMap<string, string> {
  return new Map(
    lines.map((line) => {
      const [, name, value] = form.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new UsageError(sentence);
      return [name, value];
    }),
  );
}
