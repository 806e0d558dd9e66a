/** The recorded arguments of a call: their digest, or the redacted arguments. */

import type { Call } from "../../core/call.js";
import { canonicalDigest } from "../../runtime/canonical-digest.js";
import { isSecretField } from "../../telemetry/secrets.js";
import { ExactNumber, isObject } from "../../wire/json.js";
import { approximateJsonLength } from "../../wire/json-text.js";
import type { AuditConfig } from "./section.js";

/** The members of a line that are about arguments. */
export type RecordedArguments =
  | { readonly argumentsDigest: string }
  | { readonly arguments: unknown }
  | Readonly<Record<never, never>>;

/** Longer arguments (characters of JSON) are recorded as their digest. */
const MAX_LENGTH = 65_536;
const MARK = "[redacted]";
const NONE = {};

/** Records arguments as configured. */
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

/** Policy redactions are known only for calls that the policy allowed. Members added by the config are omitted. */
function withoutRedacted(given: unknown, record: Call["record"]): unknown {
  if (record?.isRouted !== true) return undefined;
  const { forwardedArguments: forwarded } = record;
  if (!isObject(forwarded) || !isObject(given)) return given;
  return Object.fromEntries(Object.entries(forwarded).filter(([key]) => Object.hasOwn(given, key)));
}

const digested = (argumentsDigest: string): RecordedArguments => ({ argumentsDigest });
