/** The text of a session's record. */

import { isObject, objectAt, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import type { SessionState } from "./replicas.js";

/** The format of a record; other formats are ignored. */
const SCHEMA = 2;
/** A record of this age (ms) may be of a session that other replicas have not been notified of. */
const RECENT_MS = 10_000;

/** @param principal the digest of the principal. @param at the time of day in ms. Default: now */
export const recordText = (
  version: number,
  state: SessionState,
  principal: string,
  at: number = Date.now(),
): string => writeJson({ schema: SCHEMA, version, at, ...state, principal });

/**
 * Whether a record was written just now and since `startedAt` (both by the time of day), when a process has started that would
 * know of the end of its session.
 */
export const isRecent = (at: number, startedAt: number): boolean =>
  at > startedAt && Math.abs(Date.now() - at) < RECENT_MS;

/** A record with the digest of its principal; undefined for another format. */
export function recordIn(text: string | undefined) {
  const record = text === undefined ? undefined : parseJson(text);
  if (!isObject(record) || record.schema !== SCHEMA) return undefined;
  const { endpoint, revision, principal, subscriptions, version, at } = record;
  if (typeof version !== "number" || typeof at !== "number") return undefined;
  const capabilities = objectAt(record, "capabilities");
  if (typeof endpoint !== "string" || typeof revision !== "string" || typeof principal !== "string")
    return undefined;
  if (capabilities === undefined || !Array.isArray(subscriptions)) return undefined;
  const info = objectAt(record, "info");
  const logLevel = stringAt(record, "logLevel");
  return {
    ...{ endpoint, revision, principal, capabilities, version, at },
    ...(info !== undefined && { info }),
    ...(logLevel !== undefined && { logLevel }),
    subscriptions: subscriptions.filter((uri) => typeof uri === "string"),
  };
}
