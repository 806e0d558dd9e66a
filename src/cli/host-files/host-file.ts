/** Reads the servers out of any host's own file, wherever it keeps them. */
import { basename, dirname, isAbsolute, relative, resolve } from "node:path";
import { hasAddress, isHostBuiltin, stripServers } from "../../config/host-config-file.js";
import type { Section } from "../../config/section.js";
import { SERVER_KEYS } from "../../config/server-keys.js";
import { literal } from "../../config/template.js";
import { type Fault, type Member, type ObjectTree, plainValue, type Tree } from "../../config/tree.js";
import {
  freeName,
  type Imported,
  type ImportedServer,
  type NeededVariable,
  variableName,
} from "./imported.js";
import { type NormalizeContext, normalizeServer } from "./normalize-server.js";

/** How a host's file is imported. */
export interface ImportOptions {
  /** Of the servers that belong to single projects only those of this folder are taken. Default: all. */
  readonly project?: string;
  /** Whether the environment has a variable of this name. Default: no. */
  readonly isTaken?: (name: string) => boolean;
  /** Sections of features, whose keys in servers are kept. Default: none. */
  readonly sections?: readonly Section[];
}

interface Source {
  readonly servers: ObjectTree;
  /** The working directory of the servers, where the file sets it. */
  readonly folder?: string;
}

/**
 * `undefined` when no servers were found in it. `file` is absent when the text came from a pipe.
 */
export function importHostFile(
  tree: ObjectTree,
  file: string | undefined,
  { project, isTaken = () => false, sections = [] }: ImportOptions = {},
): Imported | undefined {
  const listed = [...sourcesIn(tree), ...projectSources(tree, project)];
  const sources = listed.length === 0 ? bareMap(tree) : listed;
  if (sources.length === 0) return undefined;
  const inputs = readInputs(tree);
  const folder = file === undefined ? undefined : dirname(resolve(file));
  const workspace = file === undefined ? undefined : workspaceOf(file);
  const variables = new Map<string, NeededVariable>();
  const servers = new Map<string, ImportedServer>();
  const asked = new Map<string, string>();
  const notes: string[] = [];
  const warnings: Fault[] = unresolvedBlocks(tree);
  for (const { servers: found, folder: project } of sources) {
    for (const [name, { value }] of stripServers(found, warnings, sections).members) {
      if (value.kind !== "object") continue;
      const context = { inputs, folder, workspace: project ?? workspace, variables, asked, isTaken, notes };
      const server = withOwnFiles(name, normalizeServer(name, plainValue(value), context), context);
      const placed =
        project === undefined || "url" in server || "cwd" in server
          ? server
          : { ...server, cwd: literal(project) };
      const same = servers.get(name);
      if (same !== undefined && JSON.stringify(same) === JSON.stringify(placed)) continue;
      const label = same !== undefined && project !== undefined ? `${name}-${basename(project)}` : name;
      servers.set(freeName(label, servers), placed);
    }
  }
  return {
    servers,
    variables: [...variables.values()],
    notes: [...warnings.map(({ message }) => message), ...notes],
  };
}

/** A file that a server is given as its environment or document is one of its own folder, or is named by the person. */
function withOwnFiles(
  name: string,
  server: ImportedServer,
  { folder, workspace, notes }: Pick<NormalizeContext, "folder" | "workspace" | "notes">,
): ImportedServer {
  const kept = Object.entries(server).filter(([key, value]) => {
    if ((key !== "envFile" && key !== "spec") || typeof value !== "string") return true;
    const isOwn = [folder, workspace].some((each) => {
      const way = each === undefined ? ".." : relative(each, resolve(each, value));
      return way !== ".." && !way.startsWith("../") && !way.startsWith("..\\") && !isAbsolute(way);
    });
    if (!isOwn || value.startsWith("~") || value.includes("${"))
      notes.push(
        `server ${JSON.stringify(name)}: ${key} is outside of the folder of the host's file and omitted`,
      );
    return isOwn && !value.startsWith("~") && !value.includes("${");
  });
  return Object.fromEntries(kept);
}

/**
 * At the top; in VS Code's settings also under `mcp` or `mcp.servers`; in Zed's under `context_servers`; in Amp's under
 * `amp.mcpServers`; in Codex's TOML under `mcp_servers`. Those of opencode and Crush stand in `mcp` itself and those of
 * Goose in `extensions`, beside other things.
 */
function sourcesIn(tree: ObjectTree): readonly Source[] {
  const places = [
    ...SERVER_KEYS.map((key) => member(tree, key)),
    member(tree, "mcp.servers"),
    member(tree, "amp.mcpServers"),
    member(tree, "mcp_servers"),
    ...SERVER_KEYS.map((key) => member(member(tree, "mcp"), key)),
  ].map((servers) => (servers?.kind === "array" ? named(servers.items) : servers));
  const among = ["mcp", "extensions"].map((key) => serversIn(member(tree, key)));
  return [...places, ...among].flatMap((servers) => (servers?.kind === "object" ? [{ servers }] : []));
}

/** Continue: a list of servers with a `name` each. */
function named(items: readonly Tree[]): ObjectTree | undefined {
  const members = new Map<string, Member>();
  for (const item of items) {
    const name = text(member(item, "name"));
    if (name === undefined || item.kind !== "object") continue;
    const rest = new Map([...item.members].filter(([key]) => key !== "name"));
    members.set(freeName(name, members), { keyOffset: item.offset, value: { ...item, members: rest } });
  }
  return { kind: "object", offset: items[0]?.offset ?? 0, members };
}

function serversIn(tree: Tree | undefined): ObjectTree | undefined {
  if (tree?.kind !== "object") return undefined;
  const members = [...tree.members].filter(
    ([key, { value }]) =>
      !SERVER_KEYS.some((known) => known === key) &&
      value.kind === "object" &&
      (hasAddress(value) || isHostBuiltin(value)),
  );
  return members.length === 0 ? undefined : { ...tree, members: new Map(members) };
}

/** Warp and many a README: a map of servers and nothing around it. */
function bareMap(tree: ObjectTree): readonly Source[] {
  const values = [...tree.members.values()].map(({ value }) => value);
  const isMap = values.length > 0 && values.every((value) => value.kind === "object" && hasAddress(value));
  return isMap ? [{ servers: tree }] : [];
}

/** Continue: a server that is only named here, and kept in its hub. */
function unresolvedBlocks(tree: ObjectTree): Fault[] {
  const list = member(tree, "mcpServers");
  return (list?.kind === "array" ? list.items : []).flatMap((item) => {
    const block = text(member(item, "uses"));
    if (block === undefined) return [];
    const message = `${JSON.stringify(block)} is a block of Continue's hub, which only Continue can fetch; it is omitted: write its command or url here`;
    return { offset: item.offset, message };
  });
}

/** Claude Code keeps servers of single projects under the project's folder. */
function projectSources(tree: ObjectTree, only: string | undefined): readonly Source[] {
  const projects = member(tree, "projects");
  if (projects?.kind !== "object") return [];
  return [...projects.members].flatMap(([folder, { value }]) => {
    if (only !== undefined && folder !== only) return [];
    const servers = member(value, "mcpServers");
    return servers?.kind === "object" && servers.members.size > 0 ? [{ servers, folder }] : [];
  });
}

/** VS Code's questions to the person, by id: they become environment variables. */
function readInputs(tree: ObjectTree): ReadonlyMap<string, NeededVariable> {
  const lists = [member(tree, "inputs"), member(member(tree, "mcp"), "inputs")];
  const inputs = new Map<string, NeededVariable>();
  for (const list of lists) {
    if (list?.kind !== "array") continue;
    for (const input of list.items) {
      const id = text(member(input, "id"));
      const about = text(member(input, "description"));
      if (id !== undefined) inputs.set(id, { name: variableName(id), ...(about !== undefined && { about }) });
    }
  }
  return inputs;
}

function workspaceOf(file: string): string {
  const folder = dirname(resolve(file));
  return /^\.(vscode|cursor)$/.test(basename(folder)) ? dirname(folder) : folder;
}

function member(tree: Tree | undefined, key: string): Tree | undefined {
  return tree?.kind === "object" ? tree.members.get(key)?.value : undefined;
}

const text = (tree: Tree | undefined): string | undefined =>
  tree?.kind === "scalar" && typeof tree.value === "string" ? tree.value : undefined;
