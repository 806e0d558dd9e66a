/** The values in a config that nobody should get to see: what variables held, and what stands where secrets stand. */
import type { ServerConfig, TransportConfig } from "../config/config.js";
import type { GoodConfig } from "../config/read.js";
import { isSecretName } from "../telemetry/redact.js";

/** A shorter one, such as `true`, would make everything unreadable, and is no secret. */
const SHORTEST = 8;

export function secretsOf({ secrets, config }: GoodConfig): readonly string[] {
  return [...secrets, ...config.servers.flatMap(secretsOfServer)];
}

const secretsOfServer = ({ transport }: ServerConfig): readonly string[] =>
  candidates(transport).filter((value) => value.length >= SHORTEST);

function candidates(transport: TransportConfig): readonly string[] {
  if (transport.kind === "stdio") return [...underSecretNames(transport.env), ...behindFlags(transport.args)];
  const headers = underSecretNames(transport.headers);
  // The scheme in front of a credential is none.
  return [...headers, ...headers.map((value) => value.replace(/^[\w-]+ +/, "")), ...inUrl(transport.url)];
}

const underSecretNames = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => (isSecretName(name) ? [value] : []));

/** `--token x` and `--token=x`. */
function behindFlags(args: readonly string[]): readonly string[] {
  return args.flatMap((arg, at) => {
    const [, flag = "", value] = /^-{1,2}([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const found = value ?? args[at + 1];
    return isSecretName(flag) && found !== undefined ? [found] : [];
  });
}

/** Some services put the credential into the path or the query. */
function inUrl(text: string): readonly string[] {
  const { pathname, searchParams } = new URL(text);
  const parts = [...pathname.split("/"), ...searchParams.values()];
  return parts.filter((part) => part.length >= 16 && /\d/.test(part) && /[a-z]/i.test(part));
}
