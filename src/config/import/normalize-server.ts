/** Converts a server of a host to Cardea's form, with its secrets still as references. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { SERVER_TYPES } from "../server-schema.js";
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
}

/** `value` must be a server with nothing but keys of Cardea's schema in it. */
export function normalizeServer(value: unknown, context: NormalizeContext): ImportedServer {
  if (!isRecord(value)) return {};
  const { type, url, serverUrl, httpUrl, enabled, disabled, tools, disabledTools, ...rest } = rewriteMembers(
    {
      ...value,
      ...(isRecord(value.env) && { env: withBracedVariables(value.env) }),
      ...(isRecord(value.headers) && { headers: withBracedVariables(value.headers) }),
      ...(isRecord(value.auth) && { auth: withBracedVariables(value.auth) }),
    },
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
  context: NormalizeContext,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, rewrite(value, context)]));
}

function rewrite(value: unknown, context: NormalizeContext): unknown {
  if (typeof value === "string") return rewriteText(value, context);
  if (Array.isArray(value)) return value.map((item) => rewrite(item, context));
  return isRecord(value) ? rewriteMembers(value, context) : value;
}

/** Gemini CLI and Crush take `$X` for a variable; where it is all of a value or its last word, nothing else is meant. */
const withBracedVariables = (record: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      typeof value === "string" ? value.replace(/(?<=^|\s)\$([A-Z_][A-Z0-9_]*)$/, "$${$1}") : value,
    ]),
  );

/** Hosts' own variables, the `{env:X}` of some and the `${{ secrets.X }}` of others become `${X}`. */
function rewriteText(text: string, { inputs, folder, workspace, variables }: NormalizeContext): string {
  return text
    .replace(/(?<!\$)\{env:(\w+)\}/g, "$${$1}")
    .replace(/(?<!\$)\{file:([^{}]+)\}/g, (_, path: string) => `\${file:${absoluteFile(path, folder)}}`)
    .replace(/\$\{\{\s*(?:secrets|inputs)\.(\w+)\s*\}\}/g, "$${$1}")
    .replace(/\$\{([^}]*)\}/g, (found, inside: string) => {
      const [, input] = /^input:(.+)$/.exec(inside) ?? [];
      if (input !== undefined) {
        const variable = inputs.get(input) ?? { name: variableName(input) };
        variables.set(variable.name, variable);
        return `\${${variable.name}}`;
      }
      if (inside === "userHome") return `\${HOME}`;
      if (inside === "pathSeparator" || inside === "/") return "/";
      if (inside === "workspaceFolder" && workspace !== undefined) return workspace;
      const [, name, fallback] = /^(?:env:)?(\w+)(:-.*)?$/.exec(inside) ?? [];
      if (name === undefined) return found;
      if (fallback === undefined) variables.set(name, variables.get(name) ?? { name });
      return `\${${name}${fallback ?? ""}}`;
    });
}

/** opencode: relative to its file, or to the home folder. */
function absoluteFile(path: string, folder: string | undefined): string {
  if (path.startsWith("~/")) return homedir() + path.slice(1);
  return folder === undefined ? path : resolve(folder, path);
}

const isType = (type: string): type is keyof typeof SERVER_TYPES => Object.hasOwn(SERVER_TYPES, type);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
