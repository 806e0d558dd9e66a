/** Finds the config files of installed hosts, and merges their servers. */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { formatProblem, SourcePositions } from "../config/problem.js";
import { readConfig } from "../config/read.js";
import type { Section } from "../config/section.js";
import { variablesIn } from "../config/template.js";
import { readErrorMessage, readTextFile } from "../config/text-file.js";
import type { CommandContext, Log } from "./command-context.js";
import { ANY_VARIABLE } from "./edit-config.js";
import { sectionsOf } from "./feature.js";
import { firstPresent, type HostPathContext } from "./host-files/host-paths.js";
import { importText } from "./host-files/import-text.js";
import {
  freeName,
  type Imported,
  type ImportedServer,
  type NeededVariable,
  withUniquePrefixes,
} from "./host-files/imported.js";
import { KNOWN_HOSTS } from "./host-files/known-hosts.js";
import { runningGateways } from "./run-files.js";

/** A host's config file. */
export interface HostFile {
  readonly file: string;
  /** The name of the host, or the file as named by the person. */
  readonly title: string;
}

/** The content of a host's file. */
export interface HostServers extends HostFile {
  readonly imported: Imported;
}

/** The existing files of known hosts: of the user, then of the project in `folder`. */
export function existingHostFiles(places: HostPathContext, folder: string): readonly HostFile[] {
  const ofUser = KNOWN_HOSTS.flatMap((host) => {
    const { file, isPresent } = firstPresent(host.files(places));
    return isPresent ? [{ file, title: host.title }] : [];
  });
  const ofProject = KNOWN_HOSTS.flatMap((host) =>
    host.projectFiles
      .filter((file) => existsSync(join(folder, file)))
      .map((file) => ({ file: join(folder, file), title: `${host.title} (${file})` })),
  );
  const all = [...ofUser, ...ofProject];
  return all.filter(({ file }, at) => all.findIndex((other) => other.file === file) === at);
}

/** The servers of a file, without Cardea itself. `undefined` if there are none; the log says why. */
export async function readServersOf(
  host: HostFile,
  shell: CommandContext,
  log: Log,
): Promise<HostServers | undefined> {
  const { file } = host;
  let text: string;
  try {
    text = (await readTextFile(file)).replace(/^\uFEFF/, "");
  } catch (error) {
    log.warn({ file }, `${file} cannot be read: ${readErrorMessage(error)}`);
    return undefined;
  }
  if (text.trim() === "") return undefined;
  const { imported, faults } = importText(text, file, {
    project: shell.cwd,
    isTaken: (name) => shell.env[name] !== undefined,
    sections: await sectionsOf(shell.features),
  });
  for (const problem of new SourcePositions(file, text).problems(faults))
    log.warn({}, formatProblem(problem));
  if (imported === undefined) return undefined;
  for (const note of imported.notes) log.warn({ file }, `${file}: ${note}`);
  const own = (await runningGateways(shell.env)).map(({ url }) => url);
  const servers = [...imported.servers].filter(
    ([name, server]) => !isCardea(name, server) && !own.some((url) => server.url === url),
  );
  return { ...host, imported: { ...imported, servers: new Map(servers) } };
}

/** An entry for Cardea itself: the gateway would start itself. */
function isCardea(name: string, { command, args, url }: ImportedServer): boolean {
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
  const starts = words.some(
    (word) => /^cardea(?:@.*)?$/.test(basename(word)) || /cardea[^/\\]*[/\\]dist[/\\]main\.js$/.test(word),
  );
  const serves = words.some((word) => word === "stdio" || word === "connect" || word === "serve");
  if (starts && serves) return true;
  if (name !== "cardea") return false;
  return serves || (typeof url === "string" && /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/.test(url));
}

/** All servers under unique names; a server that several hosts have appears once. Invalid ones are omitted. */
export function mergeServers(
  found: readonly HostServers[],
  log: Log,
  sections: readonly Section[],
): {
  readonly servers: ReadonlyMap<string, ImportedServer>;
  readonly variables: readonly NeededVariable[];
  readonly sources: readonly string[];
} {
  const servers = new Map<string, ImportedServer>();
  const variables = new Map<string, NeededVariable>();
  const sources: string[] = [];
  for (const { title, file, imported } of found) {
    sources.push(title);
    for (const variable of imported.variables) variables.set(variable.name, variable);
    for (const [name, server] of imported.servers) {
      const problem = problemOf(name, server, sections);
      if (problem !== undefined) {
        log.warn({ server: name }, `${file}: ${problem}; the server is left out`);
        continue;
      }
      const isKnown = [...servers].some(
        ([other, known]) => other.startsWith(name) && JSON.stringify(known) === JSON.stringify(server),
      );
      if (!isKnown) servers.set(freeName(name, servers), server);
    }
  }
  const names = new Set(variablesIn([...servers.values()]).map((variable) => variable.replace(/:-.*$/s, "")));
  const used = [...variables.values()].filter(({ name }) => names.has(name));
  return { servers: withUniquePrefixes(servers), variables: used, sources };
}

/** Why a config with only this server would be refused. */
function problemOf(name: string, server: ImportedServer, sections: readonly Section[]): string | undefined {
  const text = JSON.stringify({ mcpServers: { [name]: server } });
  const read = readConfig(text, "cardea.json", { env: ANY_VARIABLE, sections, readFile: () => "" });
  return read.problems[0]?.message;
}
