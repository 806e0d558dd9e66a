/** Finds plaintext secrets in imported servers. Names their positions, never the values. */
import type { ImportedServer } from "../config/import/imported.js";
import { isNonSecretValue, isSecretName, mayBeSecretName } from "../telemetry/secrets.js";

/** `env.GITHUB_TOKEN` and similar, for each secret in the server itself, not behind a variable. */
export function copiedSecrets(server: ImportedServer): readonly string[] {
  const { env, headers, args, url } = server;
  return [
    ...namedSecrets("env", env),
    ...namedSecrets("headers", headers),
    ...(Array.isArray(args) ? secretArguments(args) : []),
    ...(typeof url === "string" && !isPlain(url) && !isNonSecretValue(url) ? ["url"] : []),
  ];
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
