/** Converts a server of a host to Cardea's form, with its secrets still as references. */
import { basename, resolve } from "node:path";
import { homeFolder } from "../../config/home-folder.js";
import { SERVER_TYPES } from "../../config/server-schema.js";
import { type Piece, writeTemplate } from "../../config/template.js";
import { type ImportedServer, type NeededVariable, variableName } from "./imported.js";

/** What the import of one server needs of its file. */
export interface NormalizeContext {
  /** What the host asks its person for, by id. */
  readonly inputs: ReadonlyMap<string, NeededVariable>;
  /** The folder of the host's file; unknown when the text came from a pipe. */
  readonly folder: string | undefined;
  /** What the host's `${workspaceFolder}` is; unknown when the text came from a pipe. */
  readonly workspace: string | undefined;
  /** Receives the variables that must be set. */
  readonly variables: Map<string, NeededVariable>;
  /** The names of those that a host asks for, by what it asks for. */
  readonly asked: Map<string, string>;
  /** Whether the environment has a variable of this name. */
  readonly isTaken: (name: string) => boolean;
  /** Receives what is kept as text. */
  readonly notes: string[];
}

/** `value` must be a server with nothing but keys of Cardea's schema in it. */
export function normalizeServer(server: string, value: unknown, context: NormalizeContext): ImportedServer {
  if (!isRecord(value)) return {};
  const { type, url, serverUrl, httpUrl, enabled, disabled, tools, disabledTools, ...rest } = rewriteMembers(
    {
      ...value,
      ...(isRecord(value.env) && { env: withBracedVariables(value.env) }),
      ...(isRecord(value.headers) && { headers: withBracedVariables(value.headers) }),
      ...(isRecord(value.auth) && { auth: withBracedVariables(value.auth) }),
    },
    `server ${JSON.stringify(server)}:`,
    context,
  );
  const address = url ?? serverUrl ?? httpUrl;
  const kind = typeof type === "string" && isType(type) ? SERVER_TYPES[type] : type;
  const filter = filterOf(tools, disabledTools);
  return {
    ...(kind !== undefined && { type: kind }),
    ...(address !== undefined && { url: address }),
    ...rest,
    ...((disabled === true || enabled === false) && { disabled: true }),
    ...(filter !== undefined && { tools: filter }),
  };
}

function filterOf(tools: unknown, disabled: unknown): unknown {
  const allow = Array.isArray(tools) ? { allow: tools } : isRecord(tools) ? tools : {};
  const everything = JSON.stringify(allow) === '{"allow":["*"]}' ? {} : allow;
  const deny = [
    ...(Array.isArray(everything.deny) ? everything.deny : []),
    ...(Array.isArray(disabled) ? disabled : []),
  ];
  const filter = { ...everything, ...(deny.length > 0 && { deny }) };
  return Object.keys(filter).length === 0 ? undefined : filter;
}

function rewriteMembers(
  record: Readonly<Record<string, unknown>>,
  at: string,
  context: NormalizeContext,
): Record<string, unknown> {
  const isTop = at.endsWith(":");
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      rewrite(value, isTop ? `${at} ${key}` : `${at}.${key}`, context),
    ]),
  );
}

function rewrite(value: unknown, at: string, context: NormalizeContext): unknown {
  if (typeof value === "string") return rewriteText(value, at, context);
  if (Array.isArray(value)) return value.map((item, index) => rewrite(item, `${at}[${index}]`, context));
  return isRecord(value) ? rewriteMembers(value, at, context) : value;
}

/** Gemini CLI and Crush take `$X` for a variable; where it is all of a value or its last word, nothing else is meant. */
const withBracedVariables = (record: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      typeof value === "string" ? value.replace(/(?<=^|\s)\$([A-Z_][A-Z0-9_]*)$/, "$${$1}") : value,
    ]),
  );

/** The variables of hosts: VS Code, Cursor, Claude Code; `{env:X}` and `{file:…}` of opencode, `${{ secrets.X }}` of Continue. */
const HOST_VARIABLE =
  /\$\{\{\s*(?:secrets|inputs)\.([A-Za-z_]\w*)\s*\}\}|\$\{([^}]*)\}|\{env:([A-Za-z_]\w*)\}|\{(file:[^{}]+)\}/g;

/** All that the host would not have expanded is literal: the text was not written for Cardea. */
function rewriteText(text: string, at: string, context: NormalizeContext): string {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, 1: secret, 2: inside, 3: variable, 4: file, index } of text.matchAll(
    HOST_VARIABLE,
  )) {
    const name = secret ?? variable;
    const piece =
      name === undefined ? pieceOf(file ?? inside ?? "", at, context) : fromEnvironment(name, context);
    if (piece === undefined)
      context.notes.push(`${at} has ${JSON.stringify(found)}, which is no variable here; it is kept as text`);
    pieces.push(text.slice(from, index), piece ?? found);
    from = index + found.length;
  }
  return writeTemplate([...pieces, text.slice(from)]);
}

/** What stands for `${inside}`; undefined if it is no variable of a host. */
function pieceOf(inside: string, at: string, context: NormalizeContext): Piece | undefined {
  const { inputs, folder, workspace } = context;
  const [, input] = /^input:(.+)$/s.exec(inside) ?? [];
  if (input !== undefined) return asked(inputs.get(input) ?? { name: variableName(input) }, context);
  const [, file] = /^file:(.+)$/s.exec(inside) ?? [];
  if (file !== undefined) {
    // The person reads the file, or not: an import names files to no gateway.
    const about = `the content of ${absoluteFile(file, folder)}, which an import does not read`;
    return asked({ name: variableName(at.replace(/^server /, "")), about, isSecret: true }, context);
  }
  if (inside === "userHome") return { variable: "HOME" };
  if (inside === "pathSeparator" || inside === "/") return "/";
  if (inside === "workspaceFolder") return workspace;
  if (inside === "workspaceFolderBasename" && workspace !== undefined) return basename(workspace);
  const [, name, fallback] = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inside) ?? [];
  if (name === undefined || fallback?.includes("${") === true) return undefined;
  return fromEnvironment(name, context, fallback);
}

/** A variable of the environment, as the host would have taken it. */
function fromEnvironment(name: string, { variables }: NormalizeContext, fallback?: string): Piece {
  const known = variables.get(name);
  if (fallback === undefined) {
    const { isOptional: _, ...needed } = known ?? { name };
    variables.set(name, needed);
  } else if (known === undefined) variables.set(name, { name, isOptional: true });
  return { variable: fallback === undefined ? name : `${name}:-${fallback}` };
}

/** A variable that the host would have asked for: not one that the environment has for something else. */
function asked(wanted: NeededVariable, { variables, asked: known, isTaken }: NormalizeContext): Piece {
  const key = JSON.stringify(wanted);
  const before = known.get(key);
  let name = before ?? wanted.name;
  for (let count = 2; before === undefined && (isTaken(name) || variables.has(name)); count += 1)
    name = `${wanted.name}_${count}`;
  known.set(key, name);
  variables.set(name, { ...wanted, name });
  return { variable: name };
}

/** opencode: relative to its file, or to the home folder. */
function absoluteFile(path: string, folder: string | undefined): string {
  if (path.startsWith("~/")) return homeFolder() + path.slice(1);
  return folder === undefined ? path : resolve(folder, path);
}

const isType = (type: string): type is keyof typeof SERVER_TYPES => Object.hasOwn(SERVER_TYPES, type);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
