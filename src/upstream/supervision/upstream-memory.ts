/** What does an upstream know before its first connection, from the connections of an earlier process? */
import type { ServerConfig } from "../../config/config.js";
import type { ServerFacts } from "../../core/upstream.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { type EraMemory, pinOf, type TransportKind } from "./era-cache.js";

/** The last known state of a server. */
export interface UpstreamMemory {
  readonly era: "legacy" | "modern";
  /** The facts of the shared connection. */
  readonly facts: ServerFacts;
  readonly eraCache: EraMemory;
  /** The facts of the last session, where the shared connection has none. */
  readonly sessionFacts?: ServerFacts;
  /** True where the server has asked for credentials. */
  readonly needsCredentials?: boolean;
}

/** The memory as JSON, which catalog and files carry unread; undefined before the first connection. */
export function writeMemory(
  era: UpstreamMemory["era"] | undefined,
  facts: ServerFacts | undefined,
  eraCache: EraMemory,
  sessionFacts: ServerFacts | undefined,
  needsCredentials: boolean,
): JsonObject | undefined {
  if (era === undefined || facts === undefined) return undefined;
  return {
    era,
    facts: { ...facts },
    ...writeEraMemory(eraCache),
    ...(sessionFacts !== undefined && { sessionFacts: { ...sessionFacts } }),
    ...(needsCredentials && { needsCredentials }),
  };
}

/** The memory of `server` in what `writeMemory` wrote; undefined for anything else, and where the config pins another era. */
export function readMemory(
  { protocol, transport }: Pick<ServerConfig, "protocol" | "transport">,
  given: unknown,
): UpstreamMemory | undefined {
  if (!isObject(given)) return undefined;
  const { era } = given;
  const facts = readFacts(given, "facts");
  if ((era !== "legacy" && era !== "modern") || facts === undefined) return undefined;
  if ((pinOf(protocol)?.era ?? era) !== era) return undefined;
  const { legacy, modern: _, ...rest } = readEraMemory(transport, given);
  const sessionFacts = readFacts(given, "sessionFacts");
  return {
    era,
    facts,
    eraCache:
      era === "modern" ? { ...rest, modern: true } : { ...rest, ...(legacy !== undefined && { legacy }) },
    ...(sessionFacts !== undefined && { sessionFacts }),
    ...(given.needsCredentials === true && { needsCredentials: true }),
  };
}

/** The era cache of a server with this transport in what `writeEraMemory` wrote; empty for anything else. */
export function readEraMemory({ kind }: Pick<Transport, "kind">, given: JsonObject): EraMemory {
  const legacy = objectAt(given, "legacy");
  const transport = transportsOf(kind).find((each) => each === legacy?.transport);
  const legacySince = timeAt(legacy, "learnedAt");
  const sessions = objectAt(given, "sessions");
  const sessionsSince = timeAt(sessions, "learnedAt");
  const supported = sessions?.supported;
  return {
    ...(transport !== undefined &&
      legacySince !== undefined && { legacy: { transport, learnedAt: legacySince } }),
    ...(typeof supported === "boolean" &&
      sessionsSince !== undefined && { sessions: { supported, learnedAt: sessionsSince } }),
    ...(given.modern === true && { modern: true }),
  };
}

/** As JSON. */
export const writeEraMemory = ({ legacy, sessions, modern }: EraMemory): JsonObject => ({
  ...(legacy !== undefined && { legacy: { ...legacy } }),
  ...(sessions !== undefined && { sessions: { ...sessions } }),
  ...(modern === true && { modern }),
});

type Transport = ServerConfig["transport"];

const transportsOf = (kind: Transport["kind"]): readonly TransportKind[] =>
  kind === "stdio" ? ["stdio"] : kind === "http" ? ["http", "sse"] : ["http"];

function readFacts(given: JsonObject, key: string): ServerFacts | undefined {
  const facts = objectAt(given, key);
  const [capabilities, serverInfo] = [objectAt(facts, "capabilities"), objectAt(facts, "serverInfo")];
  if (capabilities === undefined || serverInfo === undefined) return undefined;
  const [instructions, instance] = [stringAt(facts, "instructions"), stringAt(facts, "instance")];
  return {
    capabilities,
    serverInfo,
    ...(instructions !== undefined && { instructions }),
    ...(instance !== undefined && { instance }),
  };
}

/** A time in ms since 1970. */
function timeAt(object: JsonObject | undefined, key: string): number | undefined {
  const at = object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof at === "number" && Number.isSafeInteger(at) ? at : undefined;
}
