/** The text of a session's record. */
import { isObject, objectAt, stringAt } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";

/** The format of a record; other formats are ignored. */
export const SCHEMA = 2;

/** A record with the digest of its principal; undefined for another format. */
export function recordIn(text: string | undefined) {
  const record = text === undefined ? undefined : parseJson(text);
  if (!isObject(record) || record.schema !== SCHEMA) return undefined;
  const { endpoint, revision, principal, subscriptions, version } = record;
  if (typeof version !== "number") return undefined;
  const capabilities = objectAt(record, "capabilities");
  if (typeof endpoint !== "string" || typeof revision !== "string" || typeof principal !== "string")
    return undefined;
  if (capabilities === undefined || !Array.isArray(subscriptions)) return undefined;
  const info = objectAt(record, "info");
  const logLevel = stringAt(record, "logLevel");
  return {
    ...{ endpoint, revision, principal, capabilities, version },
    ...(info !== undefined && { info }),
    ...(logLevel !== undefined && { logLevel }),
    subscriptions: subscriptions.filter((uri) => typeof uri === "string"),
  };
}
