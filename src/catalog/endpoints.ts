/** The endpoints: the whole gateway, a single server, or a profile. */
import type { ListKind } from "../core/lists.js";
import type { EndpointForm, ToolForms } from "../core/tool-forms.js";
import { canPass } from "../patterns/globs.js";
import { type Filters, listFilter, type ServerNamespace, withoutPrefix } from "./server-namespace.js";

/** A named subset: some servers, and filters over exposed names. */
export interface CatalogProfile extends Filters {
  readonly servers: readonly string[];
}

/** One part of the gateway: `/mcp`, or `/mcp/NAME` of a server or a profile. */
export interface Endpoint {
  /** "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly name: string;
  /** Its servers, in config order. */
  readonly namespaces: readonly ServerNamespace[];
  /** A profile: a part of the whole, with the names of the whole. */
  readonly filter?: {
    passes(kind: ListKind, exposed: string): boolean;
    /** Whether a tool can pass whose exposed name begins so; in doubt true. */
    canPass(start: string): boolean;
  };
  /** The form of its tools; undefined: that of the servers. */
  readonly form: EndpointForm | undefined;
}

/** Every scope by name. A profile hides a server of the same name. */
export function endpointsOf(
  namespaces: readonly ServerNamespace[],
  profiles: Readonly<Record<string, CatalogProfile>>,
  forms: ToolForms | undefined,
): ReadonlyMap<string, Endpoint> {
  const formAt = (name: string): EndpointForm | undefined => forms?.atEndpoint(name);
  const scopes = new Map<string, Endpoint>([["", { name: "", namespaces, form: formAt("") }]]);
  for (const space of namespaces) {
    const { name } = space;
    scopes.set(name, { name, namespaces: [withoutPrefix(space)], form: formAt(name) });
  }
  for (const [name, profile] of Object.entries(profiles)) {
    const shown = namespaces.filter((space) => profile.servers.includes(space.name));
    const { tools } = profile;
    const filter = { passes: listFilter(profile), canPass: (start: string) => canPass(tools, start) };
    scopes.set(name, { name, namespaces: shown, filter, form: formAt(name) });
  }
  return scopes;
}
