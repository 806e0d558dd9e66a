/** The parts of the gateway that can be seen: all of it, one server as it is, or a profile. */
import type { ListKind } from "../core/upstream.js";
import { asItIs, type Filters, filterTest, type ServerSpace } from "./server-space.js";

/** A named subset: some servers, and filters over exposed names. */
export interface CatalogProfile extends Filters {
  readonly servers: readonly string[];
}

export interface Scope {
  /** "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly name: string;
  /** Its servers, in the order of the config. */
  readonly spaces: readonly ServerSpace[];
  /** A profile: a part of the whole, under the names of the whole. */
  readonly part?: { passes(kind: ListKind, exposed: string): boolean };
}

/** Every scope by its name. A profile with the name of a server hides that server's own scope. */
export function scopesOf(
  spaces: readonly ServerSpace[],
  profiles: Readonly<Record<string, CatalogProfile>>,
): ReadonlyMap<string, Scope> {
  const scopes = new Map<string, Scope>([["", { name: "", spaces }]]);
  for (const space of spaces) scopes.set(space.name, { name: space.name, spaces: [asItIs(space)] });
  for (const [name, profile] of Object.entries(profiles)) {
    const shown = spaces.filter((space) => profile.servers.includes(space.name));
    scopes.set(name, { name, spaces: shown, part: { passes: filterTest(profile) } });
  }
  return scopes;
}
