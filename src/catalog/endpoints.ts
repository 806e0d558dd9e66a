/** The endpoints: the whole gateway, a single server, or a profile. */
import type { ListKind } from "../core/lists.js";
import type { ExposureSettings } from "./exposure.js";
import { type Filters, listFilter, type ServerNamespace, withoutPrefix } from "./server-namespace.js";

/** A named subset: some servers, and filters over exposed names. */
export interface CatalogProfile extends Filters {
  readonly servers: readonly string[];
  /** Absent if it equals that of the whole gateway. */
  readonly exposure?: ExposureSettings;
}

/** One part of the gateway: `/mcp`, or `/mcp/NAME` of a server or a profile. */
export interface Endpoint {
  /** "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly name: string;
  /** Its servers, in config order. */
  readonly namespaces: readonly ServerNamespace[];
  /** A profile: a part of the whole, with the names of the whole. */
  readonly filter?: { passes(kind: ListKind, exposed: string): boolean };
}

/** Every scope by name. A profile hides a server of the same name. */
export function endpointsOf(
  namespaces: readonly ServerNamespace[],
  profiles: Readonly<Record<string, CatalogProfile>>,
): ReadonlyMap<string, Endpoint> {
  const scopes = new Map<string, Endpoint>([["", { name: "", namespaces }]]);
  for (const space of namespaces)
    scopes.set(space.name, { name: space.name, namespaces: [withoutPrefix(space)] });
  for (const [name, profile] of Object.entries(profiles)) {
    const shown = namespaces.filter((space) => profile.servers.includes(space.name));
    scopes.set(name, { name, namespaces: shown, filter: { passes: listFilter(profile) } });
  }
  return scopes;
}
