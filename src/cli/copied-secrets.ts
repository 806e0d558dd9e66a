/** Finds plaintext secrets in servers, and takes them out. Names their positions, never the values. */

import { type Piece, parseTemplate, writeTemplate } from "../config/template.js";
import { isNonSecretValue, isSecretName, mayBeSecretName } from "../telemetry/secrets.js";
import { type ImportedServer, variableName } from "./host-files/imported.js";

/** `env.GITHUB_TOKEN` and similar, for each secret in the server itself, not behind a variable. */
export function copiedSecrets(server: ImportedServer): readonly string[] {
  const { env, headers, args, url, auth } = server;
  return [
    ...namedSecrets("auth", auth).filter((place) => isSecretName(place.slice("auth.".length))),
    ...namedSecrets("env", env),
    ...namedSecrets("headers", headers),
    ...(Array.isArray(args) ? secretArguments(args) : []),
    ...(typeof url === "string" && !isPlain(url) && !isNonSecretValue(url) ? ["url"] : []),
  ];
}

/** A server without its plaintext secrets, which stand for variables, and their values. */
export interface WithoutSecrets {
  readonly server: ImportedServer;
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * The server with a variable in place of each plaintext secret. A URL is replaced whole, and only if a part of it is a
 * secret; what has variables of its own already stays.
 *
 * @param freeName makes the name of a variable unique
 */
export function withoutSecrets(
  name: string,
  server: ImportedServer,
  freeName: (wanted: string) => string,
): WithoutSecrets {
  const secrets = new Map<string, string>();
  const places = new Set(copiedSecrets(server));
  const move = (place: string, key: string, value: unknown): unknown => {
    const [text, ...others] = typeof value === "string" ? parseTemplate(value) : [];
    if (!places.has(place) || typeof text !== "string" || others.length > 0) return value;
    if (place === "url" && !hasSecretPart(text)) return value;
    const [, before = "", secret = ""] =
      /^((?:Bearer|Basic|Token)\s+|-{0,2}[\w.-]+=(?=.*$)|)(.*)$/is.exec(text) ?? [];
    const isArgument = place.startsWith("args[");
    const [kept, moved] = before.endsWith("=") && !isArgument ? ["", text] : [before, secret];
    const own = variableName(isArgument && kept !== "" ? kept : key);
    const prefix = variableName(name);
    const variable = freeName(own.startsWith(`${prefix}_`) ? own : `${prefix}_${own}`);
    secrets.set(variable, moved);
    return writeTemplate([kept, { variable }] satisfies readonly Piece[]);
  };
  const named = (key: string, values: unknown): unknown =>
    typeof values !== "object" || values === null || Array.isArray(values)
      ? values
      : Object.fromEntries(
          Object.entries(values).map(([each, value]) => [each, move(`${key}.${each}`, each, value)]),
        );
  const moved = Object.entries(server).map(([key, value]): [string, unknown] => {
    if (key === "args" && Array.isArray(value))
      return [key, value.map((arg, at) => move(`args[${at}]`, flagBefore(value, at), arg))];
    return [key, key === "url" ? move("url", "url", value) : named(key, value)];
  });
  return { server: Object.fromEntries(moved), secrets };
}

/** The flag whose value the argument is; else a word for it. */
const flagBefore = (args: readonly unknown[], at: number): string => {
  const before: unknown = args[at - 1];
  return typeof before === "string" && before.startsWith("-") ? before : "argument";
};

/** Credentials, a value of a query under a secret's name, or a part that looks like a key. */
function hasSecretPart(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { password, pathname, searchParams } = new URL(text);
  return (
    password !== "" ||
    [...searchParams].some(([name, value]) => mayBeSecretName(name) || !isNonSecretValue(value)) ||
    pathname.split("/").some((part) => part.length >= 12 && !isNonSecretValue(part))
  );
}

/** Without its references to variables, no secret remains. */
const isPlain = (value: string): boolean => {
  const rest = value.replace(/\$\{[^}]*\}/g, "").replace(/^(?:Bearer|Basic|Token)\s*/i, "");
  return rest.trim() === "" || (value !== rest && isNonSecretValue(rest));
};

function namedSecrets(key: string, values: unknown): readonly string[] {
  if (typeof values !== "object" || values === null) return [];
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === "string" && isSecret(name, value) ? [`${key}.${name}`] : [],
  );
}

const isSecret = (name: string, value: string): boolean =>
  !isPlain(value) &&
  (isSecretName(name) || (mayBeSecretName(name) && !isNonSecretValue(value)) || looksSecret(value));

/** Long text of letters and digits mixed, as keys are. */
const looksSecret = (value: string): boolean =>
  !isNonSecretValue(value) && /^(?:Bearer\s+)?[\w+/=.-]{20,}$/.test(value);

/** `--api-key x`, `--api-key=x` and URLs with credentials. */
function secretArguments(args: readonly unknown[]): readonly string[] {
  return args.flatMap((arg, at) => {
    if (typeof arg !== "string") return [];
    const [, flag = "", value] = /^-{0,2}([\w.-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const next: unknown = arg.startsWith("-") ? args[at + 1] : undefined;
    const given = value ?? (typeof next === "string" && !next.startsWith("-") ? next : undefined);
    const isNamed = given !== undefined && mayBeSecretName(flag) && isSecret(flag, given);
    const place = value === undefined ? at + 1 : at;
    if (isNamed) return [`args[${place}]`];
    const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i.test(arg);
    return isAddress && !isPlain(arg) && !isNonSecretValue(arg) ? [`args[${at}]`] : [];
  });
}
