/** Which connection to a server does a client use, and whose lists does it get? Decided from what is known of the server, without any state. */
import type { ServerConfig } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import { principalKey } from "../../core/principal.js";
import { type ListScope, SHARED_SCOPE } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { capabilityClass, includesClientFeatures } from "../protocol/advertised-capabilities.js";
import type { NewLease } from "./lease.js";
import type { ServerCredentials } from "./server-credentials.js";

/** What the plan depends on. */
export interface PlanFacts {
  readonly lease: ServerConfig["lease"];
  /** The era of the shared connection; undefined where it never was open. */
  readonly era: "legacy" | "modern" | undefined;
  readonly credentials: Pick<ServerCredentials, "separates" | "scopeOf" | "idOf" | "sharedId" | "headersOf">;
  /** Whether a modern server serves this client in a session (`SessionChoice`). */
  usesSession(client: Client): boolean;
  /** What a handshake advertises for this client. */
  advertisedFor(client: Client): JsonObject;
  /** What each request to a modern server advertises for this client. */
  advertisedInRequests(client: Client): JsonObject;
}

/** A connection that is kept for some clients. */
export interface PlannedLease {
  readonly lease: NewLease;
  /** Whether the shared connection can serve the client too, where the limits allow no other. */
  readonly isOptional: boolean;
}

/** Whose lists and connection `client` gets. */
export function listScopeOf(client: Client, facts: PlanFacts): ListScope {
  const scope = scopeOfCapabilities(client, facts);
  const { credentials } = facts;
  return credentials.separates(client) ? credentials.scopeOf(client, scope) : scope;
}

/** The connection that is kept for `client`, by the key of its list scope; undefined where the client uses the shared one. */
export function connectionPlan(client: Client, facts: PlanFacts): PlannedLease | undefined {
  const { credentials } = facts;
  const isSeparate = credentials.separates(client);
  const isRequestBased = facts.era === "modern" && !facts.usesSession(client);
  if (isRequestBased && !isSeparate) return undefined;
  const listScope = listScopeOf(client, facts);
  if (listScope === SHARED_SCOPE) return undefined;
  // A connection of all clients of some kind carries no principal's credentials.
  const isOfOne = isSeparate || listScope.key !== listScope.capabilityClass;
  const lease = {
    listScope,
    // A connection that serves clients of all principals counts for none of them.
    principal: listScope.key === SESSION_LIST_SCOPE.key ? "" : principalKey(client.principal),
    credentials: isOfOne ? credentials.idOf(client) : credentials.sharedId,
    headers: credentials.headersOf(client)?.headers,
    opensSession: !isRequestBased,
    // Each request carries them.
    advertised: isRequestBased ? {} : facts.advertisedFor(client),
    session: client.session && listScope.key === client.affinity ? client : undefined,
    spare: false,
  };
  // A modern server can serve the client over the shared connection too.
  return { lease, isOptional: facts.era === "modern" && !isSeparate };
}

/** A connection with the credentials of `client` that finds out the era, and ends soon. */
export function probingPlan(client: Client, { credentials }: PlanFacts): NewLease {
  return {
    listScope: credentials.scopeOf(client, PROBING_SCOPE),
    principal: principalKey(client.principal),
    credentials: credentials.idOf(client),
    headers: credentials.headersOf(client)?.headers,
    opensSession: false,
    advertised: {},
    session: undefined,
    spare: true,
  };
}

function scopeOfCapabilities(client: Client, facts: PlanFacts): ListScope {
  if (facts.era !== "modern") return scopeInHandshake(facts.lease, client, facts.advertisedFor(client));
  if (facts.usesSession(client)) {
    const scope = scopeInHandshake(facts.lease, client, facts.advertisedFor(client));
    return scope === SHARED_SCOPE ? SESSION_LIST_SCOPE : { ...scope, hasOwnUpdates: true };
  }
  // One connection serves all clients, and each request carries what is advertised for its client.
  const advertised = facts.advertisedInRequests(client);
  return Object.keys(advertised).length === 0 ? SHARED_SCOPE : requestScope(advertised);
}

/**
 * Who shares a connection that advertises capabilities once. By default (`auto`) a client that can be asked questions has its
 * own, so that a question can only be for it. The others share one per set of extensions, by which a server may list other
 * entries (such as a tool with an app page).
 */
function scopeInHandshake(mode: PlanFacts["lease"], client: Client, advertised: JsonObject): ListScope {
  if (mode === "shared") return SHARED_SCOPE;
  const differs = includesClientFeatures(advertised) || Object.hasOwn(advertised, "extensions");
  const group = differs ? capabilityScope(advertised) : SHARED_SCOPE;
  if (mode === "auto" && !includesClientFeatures(advertised)) return group;
  const own = mode !== "principal" || !client.session;
  // An array, not a concatenation: one principal could choose an id that makes it equal to the key of another.
  const shared = () => writeJson(["principal", principalKey(client.principal), capabilityClass(advertised)]);
  const key = own ? client.affinity : shared();
  return { key, capabilityClass: group.capabilityClass };
}

/**
 * The scope of clients with a session that cannot be asked questions, at a server whose shared connection has no
 * session: the server may list other entries in a session.
 */
const SESSION_LIST_SCOPE: ListScope = {
  key: "sessions",
  capabilityClass: "sessions",
  hasOwnUpdates: true,
};

/** The scope of a connection that nothing is listed over. */
const PROBING_SCOPE: ListScope = { key: "probing", capabilityClass: "probing" };

/** The scope of all clients with the same capabilities, on one connection. */
function capabilityScope(advertised: JsonObject): ListScope {
  const name = capabilityClass(advertised);
  return { key: name, capabilityClass: name };
}

/**
 * The scope of clients with the same capabilities, which each request carries. Another one than that of a connection
 * with these capabilities: in a session a server may list other entries.
 */
function requestScope(advertised: JsonObject): ListScope {
  const name = `requests:${capabilityClass(advertised)}`;
  return { key: name, capabilityClass: name };
}
