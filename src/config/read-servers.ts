/** Reads the servers of a file, in its order, one by one: their names may be anything. */
import { identifierFault } from "../wire/readable-text.js";
import { prefixCollisions } from "./collisions.js";
import { completeServer, type FileContext } from "./complete-server.js";
import type { ConfiguredServer, ServerConfig } from "./config.js";
import type { Findings } from "./findings.js";
import { misconfiguredServer } from "./misconfigured.js";
import type { Problem } from "./problem.js";
import { sectionsWithin } from "./section.js";
import { ServerConfigError } from "./server-config-error.js";
import { isServerKey, SERVER_KEYS } from "./server-keys.js";
import { wholeServerSchema } from "./server-schema.js";
import { type Fault, type ObjectTree, type Path, type Tree, treeAt } from "./tree.js";
import { describePath } from "./variables.js";

/** Some checks compare each server with all others. */
const MAX_SERVERS = 5_000;

/** How servers are read. */
export interface ServersContext extends FileContext {
  /** Finds the places of a server's faults. */
  readonly problemsOf: (faults: readonly Fault[]) => readonly Problem[];
}

interface EntryContext extends ServersContext {
  readonly schema: ReturnType<typeof wholeServerSchema>;
}

/** The servers that are not disabled. What is wrong with the entry of one makes that one misconfigured. */
export function readServers(findings: Findings, context: ServersContext): readonly ConfiguredServer[] {
  const found = new Map<string, { readonly key: string; readonly server: ConfiguredServer | undefined }>();
  const schema = wholeServerSchema(context.sections ?? []);
  for (const [key, { value }] of findings.tree.members) {
    if (!isServerKey(key)) continue;
    if (value.kind === "object" && value.members.size > MAX_SERVERS) {
      findings.add([key], `${key} has more than ${MAX_SERVERS} servers`);
      continue;
    }
    if (value.kind !== "object") {
      findings.add([key], `${key} must be an object: a server's name and what it is`);
      continue;
    }
    for (const name of value.members.keys()) {
      if (found.has(name)) findings.add([key], `duplicate server ${JSON.stringify(name)}`, name);
      else found.set(name, { key, server: readServer(findings, key, name, { ...context, schema }) });
    }
  }
  const servers = [...found.values()].flatMap(({ server }) => (server === undefined ? [] : [server]));
  const ofSections = sectionsWithin(context.sections ?? [], "server").flatMap(
    (section) => section.collisions?.(servers) ?? [],
  );
  for (const { second, message } of [...prefixCollisions(servers), ...ofSections]) {
    findings.add([found.get(second)?.key ?? ""], message, second);
  }
  return servers;
}

/** The names of all servers, disabled ones as well. */
export function serverNames(tree: ObjectTree): readonly string[] {
  return [...tree.members].flatMap(([key, { value }]) =>
    isServerKey(key) && value.kind === "object" ? [...value.members.keys()] : [],
  );
}

/** The disabled servers with the prefixes that they would have. */
export function disabledServers(
  tree: ObjectTree,
): readonly { readonly name: string; readonly prefix: string }[] {
  return [...tree.members].flatMap(([key, { value }]) =>
    isServerKey(key) && value.kind === "object"
      ? [...value.members].flatMap(([name, { value: server }]) => {
          if (server.kind !== "object" || !isDisabled(server)) return [];
          const prefix = server.members.get("prefix")?.value;
          const isGiven = prefix?.kind === "scalar" && typeof prefix.value === "string";
          return [{ name, prefix: isGiven ? prefix.value : name }];
        })
      : [],
  );
}

/** Where a server stands; the top when there is none of that name. */
export function serverPath(tree: ObjectTree, name: string): Path {
  const key = SERVER_KEYS.find((known) => {
    const servers = tree.members.get(known)?.value;
    return servers?.kind === "object" && servers.members.has(name);
  });
  return key === undefined ? [] : [key, name];
}

/** Whether a server is `disabled`, before the rest of it is validated. */
export function isDisabled(server: Tree): boolean {
  if (server.kind !== "object") return false;
  const says = (key: string, value: boolean): boolean => {
    const member = server.members.get(key)?.value;
    return member?.kind === "scalar" && member.value === value;
  };
  return says("disabled", true) || says("enabled", false);
}

function readServer(
  findings: Findings,
  key: string,
  name: string,
  context: EntryContext,
): ConfiguredServer | undefined {
  if (name.length > 200 || identifierFault(name) !== undefined) {
    findings.add(
      [key],
      "a server's name must have 1 to 200 characters, none of them hidden, and no blank at its ends",
      name,
    );
    return undefined;
  }
  const path: Path = [key, name];
  const own = findings.ofServer(name);
  const server = readEntry(own, path, context);
  // A disabled server stays disabled, whatever else its entry says.
  if (own.faults.length === 0 || isDisabled(treeAt(findings.tree, path))) return server;
  return misconfiguredServer(own, path, context.problemsOf(own.faults));
}

/** The server at `path`; undefined if it is disabled or its entry is wrong. */
function readEntry(findings: Findings, path: Path, context: EntryContext): ServerConfig | undefined {
  const tree = treeAt(findings.tree, path);
  const shape = findings.check(context.schema, tree, path);
  if (shape === undefined || isDisabled(tree)) return undefined;
  try {
    return completeServer(String(path.at(-1)), shape, context);
  } catch (error) {
    if (!(error instanceof ServerConfigError)) throw error;
    addContradiction(findings, path, error);
    return undefined;
  }
}

/** At the innermost key of its path that the file has. */
function addContradiction(findings: Findings, server: Path, error: ServerConfigError): void {
  const message = `${describePath(server)} ${error.message}`;
  let at = server;
  for (const key of error.path) {
    const tree = treeAt(findings.tree, at);
    if (tree.kind !== "object" || !tree.members.has(key)) break;
    at = [...at, key];
  }
  if (at.length > server.length && findings.isReported(at)) return;
  findings.add(at.slice(0, -1), message, String(at.at(-1)));
}
