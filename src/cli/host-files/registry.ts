/** Reads the registry's `server.json` (schema of 2025-12-11): packages become programs, remotes become addresses. */

import { literal, type Piece, writeTemplate } from "../../config/template.js";
import {
  freeName,
  type Imported,
  type ImportedServer,
  type NeededVariable,
  variableName,
} from "./imported.js";

type Json = Readonly<Record<string, unknown>>;

/** Whether this is a `server.json`, or the registry's own answer around one. */
export function registryEntry(value: unknown): Json | undefined {
  if (!isRecord(value)) return undefined;
  if (isRecord(value.server)) return registryEntry(value.server);
  const listed = Array.isArray(value.packages) || Array.isArray(value.remotes);
  return listed && typeof value.name === "string" ? value : undefined;
}

/** The first that can be used is on, the alternatives are there but disabled. */
export function importRegistryEntry(entry: Json): Imported {
  const notes: string[] = [];
  const variables = new Map<string, NeededVariable>();
  const servers = new Map<string, ImportedServer>();
  const name = String(entry.name).split("/").at(-1) ?? "server";
  const requireVariable: RequireVariable = (wanted, { description, isSecret }) => {
    const name = variableName(wanted);
    const known = variables.get(name);
    const about = known?.about ?? text(description);
    const secret = known?.isSecret === true || isSecret === true;
    variables.set(name, { name, ...(about !== undefined && { about }), ...(secret && { isSecret: true }) });
    return { variable: name };
  };
  const add = (label: string, server: ImportedServer): void => {
    servers.set(freeName(label, servers), servers.size === 0 ? server : { ...server, disabled: true });
  };
  for (const item of records(entry.packages)) {
    const server = packageServer(item, requireVariable);
    if (typeof server === "string") notes.push(server);
    else add(name, server);
  }
  for (const item of records(entry.remotes))
    add(servers.size === 0 ? name : `${name}-remote`, remoteServer(item, requireVariable));
  return { servers, variables: [...variables.values()], notes };
}

/** A variable that a person is asked for. All other text of an entry is literal: it is a stranger's. */
type RequireVariable = (name: string, about: Json) => Piece;

/** A server, or why this package cannot be one. */
function packageServer(item: Json, need: RequireVariable): ImportedServer | string {
  const identifier = text(item.identifier) ?? "";
  const version = text(item.version);
  const transport = isRecord(item.transport) ? text(item.transport.type) : undefined;
  if (transport !== undefined && transport !== "stdio") {
    return `package ${identifier} speaks ${transport} when it runs; start it yourself and give its address as "url"`;
  }
  const env = Object.fromEntries(
    records(item.environmentVariables).flatMap((variable) => environment(variable, need)),
  );
  const before = argumentsOf(item.runtimeArguments, need);
  const after = argumentsOf(item.packageArguments, need);
  const started = launchCommand(text(item.registryType), identifier, version, Object.keys(env));
  if (started === undefined)
    return `package ${identifier} is of a kind (${text(item.registryType)}) that cannot be started`;
  const [command, flags, target] = started;
  return {
    command: literal(text(item.runtimeHint) ?? command),
    // A package that names its own runtime arguments has usually -y among them.
    args: [...new Set([...flags.map(literal), ...before]), literal(target), ...after],
    ...(Object.keys(env).length > 0 && { env }),
  };
}

function launchCommand(
  kind: string | undefined,
  identifier: string,
  version: string | undefined,
  variables: readonly string[],
): [command: string, flags: readonly string[], target: string] | undefined {
  if (kind === "npm") return ["npx", ["-y"], version === undefined ? identifier : `${identifier}@${version}`];
  if (kind === "pypi") return ["uvx", [], version === undefined ? identifier : `${identifier}==${version}`];
  if (kind === "nuget")
    return ["dnx", ["--yes"], version === undefined ? identifier : `${identifier}@${version}`];
  if (kind !== "oci") return undefined;
  const tagged = /:[^/]+$|@sha256:/.test(identifier) || version === undefined;
  const passed = variables.map((variable) => `--env=${variable}`);
  return ["docker", ["run", "-i", "--rm", ...passed], tagged ? identifier : `${identifier}:${version}`];
}

/** Optional variables without a default are left out: given empty they would mean something else. */
function environment(variable: Json, need: RequireVariable): readonly [string, string][] {
  const name = text(variable.name);
  if (name === undefined) return [];
  const value = text(variable.value);
  if (value !== undefined) return [[name, substitute(value, variable, need)]];
  const fallback = text(variable.default);
  if (fallback !== undefined) return [[name, literal(fallback)]];
  return variable.isRequired === true ? [[name, writeTemplate([need(name, variable)])]] : [];
}

function argumentsOf(list: unknown, need: RequireVariable): readonly string[] {
  return records(list).flatMap((argument) => {
    const name = text(argument.name);
    const given = text(argument.value) ?? text(argument.default);
    const hint = text(argument.valueHint) ?? name ?? "argument";
    const wanted =
      given === undefined && argument.isRequired === true ? writeTemplate([need(hint, argument)]) : undefined;
    const value = given === undefined ? wanted : substitute(given, argument, need);
    if (argument.type !== "named" || name === undefined) return value === undefined ? [] : [value];
    const flag = argument.isRequired === true || given !== undefined || argument.format === "boolean";
    return flag
      ? [literal(name), ...(value === undefined || argument.format === "boolean" ? [] : [value])]
      : [];
  });
}

function remoteServer(item: Json, need: RequireVariable): ImportedServer {
  const headers = Object.fromEntries(records(item.headers).flatMap((header) => environment(header, need)));
  return {
    type: item.type === "sse" ? "sse" : "http",
    url: substitute(text(item.url) ?? "", item, need),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

/** `{name}` inside a value stands for a variable of the entry. */
function substitute(value: string, owner: Json, need: RequireVariable): string {
  const { variables } = owner;
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, 1: name = "", index } of value.matchAll(/\{([\w.-]+)\}/g)) {
    const declared = isRecord(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
    const variable = isRecord(declared) ? declared : {};
    const fallback = text(variable.value) ?? text(variable.default);
    const isSecret = variable.isSecret === true || owner.isSecret === true;
    pieces.push(value.slice(from, index), fallback ?? need(name, { ...variable, isSecret }));
    from = index + found.length;
  }
  return writeTemplate([...pieces, value.slice(from)]);
}

const records = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
