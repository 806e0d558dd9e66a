/** Expands the variables of a file, except in disabled servers, whose variables may be unset. */
import { basename, dirname } from "node:path";
import { parseEnvFile } from "./env-file.js";
import { homeFolder } from "./home-folder.js";
import { isDisabled } from "./read-servers.js";
import { isServerKey } from "./server-keys.js";
import { readErrorMessage } from "./text-file.js";
import type { Fault, Member, ObjectTree, Path } from "./tree.js";
import { expandVariables, type VariableSources } from "./variables.js";

/** A file with expanded variables, and the errors. */
export interface ExpandedFile {
  readonly tree: ObjectTree;
  readonly faults: readonly Fault[];
  /** Those of servers, by name: they concern nothing else. */
  readonly serverFaults: ReadonlyMap<string, readonly Fault[]>;
  readonly secrets: readonly string[];
}

/** All values of variables together (characters). */
const MAX_EXPANDED = 67_108_864;

/** Expands variables in all string values, once; secrets are collected. */
export function expandFile(tree: ObjectTree, given: VariableSources): ExpandedFile {
  const sources = { ...given, budget: { left: MAX_EXPANDED } };
  const faults: Fault[] = [];
  const serverFaults = new Map<string, readonly Fault[]>();
  const secrets: string[] = [];
  const expandAt = (member: Member, path: Path, onFaults: (found: readonly Fault[]) => void): Member => {
    const expansion = expandVariables(member.value, path, sources);
    onFaults(expansion.faults);
    for (const secret of expansion.secrets) secrets.push(secret);
    return { ...member, value: expansion.tree };
  };
  const expandServers = (key: string, servers: ObjectTree): ObjectTree => ({
    ...servers,
    members: mapMembers(servers, (name, server) =>
      isDisabled(server.value)
        ? server
        : expandAt(server, [key, name], (found) => {
            // All variables together are too long: that concerns the file.
            if (sources.budget.left < 0) for (const fault of found) faults.push(fault);
            else if (found.length > 0) serverFaults.set(name, [...(serverFaults.get(name) ?? []), ...found]);
          }),
    ),
  });
  const members = mapMembers(tree, (key, member) =>
    isServerKey(key) && member.value.kind === "object"
      ? { ...member, value: expandServers(key, member.value) }
      : expandAt(member, [key], (found) => {
          for (const fault of found) faults.push(fault);
        }),
  );
  return { tree: { ...tree, members }, faults, serverFaults, secrets };
}

/** The variables of the file that the top-level `envFile` names, or why it cannot be read. */
export function variablesOfFile(
  tree: ObjectTree,
  readFile: VariableSources["readFile"],
): { readonly values: Readonly<Record<string, string>>; readonly faults: readonly Fault[] } {
  const named = tree.members.get("envFile")?.value;
  if (named?.kind !== "scalar" || typeof named.value !== "string") return { values: {}, faults: [] };
  try {
    return { values: parseEnvFile(readFile(named.value)), faults: [] };
  } catch (error) {
    const message = `envFile cannot be read: ${readErrorMessage(error)}`;
    return { values: {}, faults: [{ offset: named.offset, message }] };
  }
}

/** Variables of a file before those of the environment, which may be a view without members of its own. */
export const withVariables = (
  env: VariableSources["env"],
  values: Readonly<Record<string, string>>,
): VariableSources["env"] =>
  Object.keys(values).length === 0
    ? env
    : new Proxy(env, {
        get: (target, name) =>
          typeof name !== "string" ? undefined : Object.hasOwn(values, name) ? values[name] : target[name],
        getOwnPropertyDescriptor: (target, name) =>
          typeof name === "string" && Object.hasOwn(values, name)
            ? { configurable: true, enumerable: true, value: values[name] }
            : Object.getOwnPropertyDescriptor(target, name),
      });

/** The meaning of hosts' own variables in a host's file in `folder`. */
export function hostVariables(folder: string): ReadonlyMap<string, string> {
  const workspace = /^\.(vscode|cursor)$/.test(basename(folder)) ? dirname(folder) : folder;
  return new Map([
    ["userHome", homeFolder()],
    ["workspaceFolder", workspace],
    ["workspaceFolderBasename", basename(workspace)],
    ["pathSeparator", "/"],
  ]);
}

function mapMembers(
  tree: ObjectTree,
  change: (key: string, member: Member) => Member,
): ReadonlyMap<string, Member> {
  return new Map([...tree.members].map(([key, member]) => [key, change(key, member)]));
}
