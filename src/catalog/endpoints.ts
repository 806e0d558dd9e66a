/** The parts of the gateway that can be seen: all of it, one server as it is, or a profile. */
import type { ListKind } from "../core/lists.js";
import type { ExposureSettings } from "./exposure.js";
import { type Filters, listFilter, type ServerNamespace, withoutPrefix } from "./server-namespace.js";

/** A named subset: some servers, and filters over exposed names. */
export interface CatalogProfile extends Filters {
  readonly servers: readonly string[];
  /** Absent where it is that of the gateway as a whole. */
  readonly exposure?: ExposureSettings;
}

/** One part of the gateway: `/mcp`, or `/mcp/NAME` of a server or a profile. */
export interface Endpoint {
  /** "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly name: string;
  /** Its servers, in the order of the config. */
  readonly namespaces: readonly ServerNamespace[];
  /** A profile: a part of the whole, under the names of the whole. */
  readonly filter?: { passes(kind: ListKind, exposed: string): boolean };
}

/** Every scope by its name. A profile with the name of a server hides that server's own scope. */
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
