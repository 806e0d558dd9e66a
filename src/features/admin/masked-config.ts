/** The config without its secrets, for the page `config`. */
import { asInFile } from "../../config/as-in-file.js";
import type { Config } from "../../config/config.js";
import { isSecretField } from "../../telemetry/secrets.js";

const MASK = "[masked]";
/** All values in these are masked: their names do not reveal which are secrets. */
const MASKED_MEMBERS: ReadonlySet<string> = new Set(["env", "headers"]);
/** The names of secrets in a config; hashes of keys are masked too. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  ...["token", "state", "key", "sha256", "hash", "clientSecret", "privateKey", "keys"],
]);

/** A copy for JSON; other texts are redacted like all admin pages. */
export const maskedConfig = (config: Config): unknown => masked(asInFile(config));

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (value instanceof Map) return masked(Object.fromEntries(value as Map<string, unknown>));
  if (value instanceof Set) return [...(value as Set<unknown>)].map(masked);
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return undefined;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [name, maskedMember(name, member)]),
  );
}

function maskedMember(name: string, value: unknown): unknown {
  if (MASKED_MEMBERS.has(name) && typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.keys(value).map((key) => [key, MASK]));
  }
  // `keys` of `auth` is a list of objects, whose members are masked one by one.
  const isText =
    typeof value === "string" || (Array.isArray(value) && value.every((one) => typeof one === "string"));
  return isText && (SECRET_MEMBERS.has(name) || isSecretField(name)) ? MASK : masked(value);
}
