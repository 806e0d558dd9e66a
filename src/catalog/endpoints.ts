/** The endpoints: the whole gateway, a single server, or a profile. */
import type { ListKind } from "../core/lists.js";
import type { SchemaDialect } from "./dialects/families.js";
import type { ExposureSettings } from "./exposure.js";
import { type Filters, listFilter, type ServerNamespace, withoutPrefix } from "./server-namespace.js";

/** A named subset: some servers, and filters over exposed names. */
export interface CatalogProfile extends Filters {
  readonly servers: readonly string[];
  /** Absent if it equals that of the whole gateway. */
  readonly exposure?: ExposureSettings;
  /** Absent if it equals that of the whole gateway. */
  readonly dialect?: SchemaDialect | "none";
}

/** One part of the gateway: `/mcp`, or `/mcp/NAME` of a server or a profile. */
export interface Endpoint {
  /** "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly name: string;
  /** Its servers, in config order. */
  readonly namespaces: readonly ServerNamespace[];
  /** A profile: a part of the whole, with the names of the whole. */
  readonly filter?: { passes(kind: ListKind, exposed: string): boolean };
  /** The family of models that its input schemas are listed for; absent: none. */
  readonly dialect?: SchemaDialect;
}

/**
 * Every scope by name; `all` is the dialect of the whole gateway, and of each URL without its own. A profile hides a server of the same name.
 */
export function endpointsOf(
  namespaces: readonly ServerNamespace[],
  profiles: Readonly<Record<string, CatalogProfile>>,
  all: SchemaDialect | "none" | undefined,
): ReadonlyMap<string, Endpoint> {
  const listedFor = (own: SchemaDialect | "none" | undefined): Pick<Endpoint, "dialect"> => {
    const dialect = own ?? all;
    return dialect === undefined || dialect === "none" ? {} : { dialect };
  };
  const scopes = new Map<string, Endpoint>([["", { name: "", namespaces, ...listedFor(undefined) }]]);
  for (const space of namespaces) {
    const { name, dialect } = space;
    scopes.set(name, { name, namespaces: [withoutPrefix(space)], ...listedFor(dialect) });
  }
  for (const [name, profile] of Object.entries(profiles)) {
    const shown = namespaces.filter((space) => profile.servers.includes(space.name));
    const filter = { passes: listFilter(profile) };
    scopes.set(name, { name, namespaces: shown, filter, ...listedFor(profile.dialect) });
  }
  return scopes;
}
