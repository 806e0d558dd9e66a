/** What is written of the arguments of a call: their digest, or themselves without secrets. */
import type { AuditConfig } from "../config/config.js";
import type { Call } from "../core/call.js";
import { canonicalDigest } from "../runtime/canonical-digest.js";
import { isSecretField } from "../telemetry/secrets.js";
import { ExactNumber, isObject } from "../wire/json.js";
import { approximateJsonLength } from "../wire/json-text.js";

/** The part of a line that is about arguments. */
export type RecordedArguments =
  | { readonly argumentsDigest: string }
  | { readonly arguments: unknown }
  | Readonly<Record<never, never>>;

/** Longer arguments (characters of JSON) are written as their digest. */
const MAX_LENGTH = 65_536;
const MARK = "[redacted]";
const NONE = {};

/** Reads the arguments of calls as the config asks for it. */
export function argumentsReader(
  mode: AuditConfig["arguments"],
  redact: (text: string) => string,
): (call: Call) => RecordedArguments | Promise<RecordedArguments> {
  const withoutSecrets = (value: unknown): unknown => {
    if (typeof value === "string") return redact(value);
    if (Array.isArray(value)) return value.map(withoutSecrets);
    if (!isObject(value) || value instanceof ExactNumber) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        isSecretField(key) && typeof inner !== "boolean" ? MARK : withoutSecrets(inner),
      ]),
    );
  };
  return ({ params, record }) => {
    const given = params.arguments;
    if (given === undefined) return NONE;
    const shown = mode === "full" ? given : mode === "redacted" ? withoutRedacted(given, record) : undefined;
    if (shown !== undefined && isObject(shown) && approximateJsonLength(shown) <= MAX_LENGTH)
      return { arguments: withoutSecrets(shown) };
    const digest = canonicalDigest(given);
    return typeof digest === "string" ? { argumentsDigest: digest } : digest.then(digested);
  };
}

/** What the policy redacts is known only of calls that it let through. What the config adds is left out. */
function withoutRedacted(given: unknown, record: Call["record"]): unknown {
  if (record?.isRouted !== true) return undefined;
  const { forwardedArguments: forwarded } = record;
  if (!isObject(forwarded) || !isObject(given)) return given;
  return Object.fromEntries(Object.entries(forwarded).filter(([key]) => Object.hasOwn(given, key)));
}

const digested = (argumentsDigest: string): RecordedArguments => ({ argumentsDigest });
