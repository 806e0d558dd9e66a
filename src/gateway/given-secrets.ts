/**
 * The secret values that a server is given: through its environment, headers, arguments and URL, under any name, unless they are
 * plainly not secret.
 */
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, parse, sep } from "node:path";
import type { FeatureTransport, TransportConfig } from "../config/config.js";
import type { Network } from "../outgoing/network.js";
import { proxyCredentials } from "../outgoing/proxy.js";
import { isNonSecretValue, isSecretName, mayBeSecretName } from "../telemetry/secrets.js";

/** @param urlsOf where a server is that is reached over the channels of a feature */
export function secretsOfTransport(
  transport: TransportConfig,
  urlsOf: (transport: FeatureTransport & TransportConfig) => readonly string[],
): readonly string[] {
  if (transport.kind === "stdio")
    return [...secretsInNamedValues(transport.env), ...secretsInArguments(transport)];
  return secretsOfRequests(transport, transport.kind === "http" ? [transport.url] : urlsOf(transport));
}

const secretsOfRequests = (
  { headers, network }: Pick<FeatureTransport, "headers" | "network">,
  urls: readonly string[],
): readonly string[] => [
  ...secretsInNamedValues(headers),
  ...urls.flatMap(secretsInUrl),
  ...secretsOfNetwork(network),
];

const secretsOfNetwork = ({ proxy, tls }: Network = {}): readonly string[] => [
  ...(proxy === undefined ? [] : proxyCredentials(proxy)),
  ...(tls?.key === undefined ? [] : [tls.key]),
];

const secretsInNamedValues = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => secretPartsOf(value, !isSecretValue(name, value)));

/** Under a secret's name even a plain word is secret; a number, a path or a URL is not. */
const isSecretValue = (name: string, value: string): boolean =>
  !isPlain(value) ||
  (mayBeSecretName(name) &&
    /^[^/\\:]*[^/\\:\d.][^/\\:]*$/.test(value) &&
    !NON_SECRET_WORDS.has(value.toLowerCase())) ||
  (isSecretName(name) && /^\d{6,}$/.test(value));

/** Whether the value of a variable is plainly no secret. */
export const isPlain = (value: string): boolean => isNonSecretValue(value) || isPathList(value);

/**
 * Whether the text is an absolute path, or a list of them, whose first folder exists on this machine. Such a path is not
 * secret, however random its names look: redacting it would redact its folder in every other path too.
 */
function isPathList(text: string): boolean {
  if (/[\s=?&,]/.test(text)) return false;
  return text.split(delimiter).every((path) => {
    if (!isAbsolute(path)) return false;
    const { root } = parse(path);
    const [first = ""] = path.slice(root.length).split(sep);
    return first !== "" && existsSync(root + first);
  });
}

/** Values under secret names that mean "none", or how a secret is used. */
const NON_SECRET_WORDS: ReadonlySet<string> = new Set([
  ...["false", "none", "null", "undefined", "disabled", "enabled", "default", "optional", "required"],
  ...["bearer", "header", "cookie", "session", "strict", "password", "secret", "oauth2", "keychain"],
]);

/**
 * The value if it is secret, and parts of it that may appear alone: after a scheme, in Basic credentials, in a URL, in
 * JSON, in a list of settings.
 */
export function secretPartsOf(value: string, isNotSecret: boolean): readonly string[] {
  if (isNotSecret) return [];
  const [, scheme, credentials] = /^(\w[\w-]*)\s+(\S.*)$/s.exec(value) ?? [];
  const address = /[a-z][a-z0-9+.-]*:\/\/[^\s"']+/i.exec(value)?.[0];
  const settings = value.includes("=")
    ? value.split(/[;&\s]+/).map((one) => one.slice(one.indexOf("=") + 1))
    : [];
  const parts = [
    ...(credentials === undefined ? [] : [credentials]),
    ...(scheme?.toLowerCase() === "basic" && credentials !== undefined ? secretsInBasic(credentials) : []),
    ...(address === undefined ? [] : secretsInUrl(address)),
    ...settings,
    ...secretsInJson(value),
  ];
  // The text around a URL is not a separate secret.
  const whole = address === value.trim() ? [] : [value];
  return [...whole, ...parts.filter((part) => part !== value && !isNonSecretValue(part))];
}

function secretsInBasic(credentials: string): readonly string[] {
  const text = Buffer.from(credentials, "base64").toString("utf8");
  const [, password] = /^[^:]*:(.*)$/s.exec(text) ?? [];
  return password === undefined ? [] : [text, password];
}

function secretsInJson(value: string): readonly string[] {
  if (!/^\s*[[{"]/.test(value)) return [];
  const found: string[] = [];
  try {
    JSON.parse(value, (_, inner: unknown) => {
      if (typeof inner === "string") found.push(inner);
      return inner;
    });
  } catch {
    return [];
  }
  return found;
}

/** `--token x`, `--token=x`, `KEY=x`, a URL, and everything else that does not look plain and is not a program name. */
function secretsInArguments({ args }: Extract<TransportConfig, { kind: "stdio" }>): readonly string[] {
  return args.flatMap((arg, at) => {
    const [, flag = "", value] = /^-{0,2}([\w.-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const given = value ?? (arg.startsWith("-") ? args[at + 1] : undefined);
    const named =
      given !== undefined && mayBeSecretName(flag) ? secretPartsOf(given, !isSecretValue(flag, given)) : [];
    const inner = /[a-z][a-z0-9+.-]*:\/\/\S+/i.exec(arg)?.[0];
    return [...named, ...(inner === undefined ? [] : secretsInUrl(inner))];
  });
}

/** The credentials of a URL, and values in its query or path that look like keys. */
function secretsInUrl(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, pathname, searchParams } = new URL(text);
  const decoded = [username, password].map(percentDecoded);
  const inPath = pathname
    .split("/")
    .map(percentDecoded)
    .filter((part) => part.length >= 12);
  const inQuery = [...searchParams].flatMap(([name, value]) =>
    mayBeSecretName(name) || !isNonSecretValue(value) ? [value] : [],
  );
  const user = password === "" ? decoded : decoded.slice(1);
  return [
    ...user.filter((part) => part.length >= 6),
    ...inQuery,
    ...inPath.filter((part) => !isNonSecretValue(part)),
  ].filter((part) => part !== "");
}

/** An invalid `%` is literal. */
const percentDecoded = (text: string): string =>
  Buffer.from(
    text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16))),
    "latin1",
  ).toString("utf8");
