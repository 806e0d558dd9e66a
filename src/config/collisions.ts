/** Finds names that collide once prefixed. */
import type { Config, ServerConfig } from "./config.js";

/** A prefix in a URI: lower-cased, everything outside `[a-z0-9-]` becomes `-`. */
export function uriPrefix(prefix: string): string {
  return prefix.toLowerCase().replace(/[^a-z0-9-]/gu, "-");
}

/** The prefix of names, in the characters that hosts accept. */
export const namePrefix = (prefix: string, { separator }: Pick<Config["naming"], "separator">): string =>
  (prefix + separator).replace(/[^A-Za-z0-9_-]/gu, "_");

/**
 * The other server whose prefix the name of a tool or prompt of `server` has; undefined if there is none. The catalog
 * gives such a name a hash ending (catalog/naming.ts).
 */
export function otherPrefixOwner(
  server: Pick<ServerConfig, "name" | "prefix">,
  own: string,
  { servers, naming }: Pick<Config, "servers" | "naming">,
): string | undefined {
  const exposed = server.prefix === "" ? own : namePrefix(server.prefix, naming) + own;
  const owner = [...servers, ...(naming.reserved ?? [])]
    .filter(({ prefix }) => prefix !== "" && exposed.startsWith(namePrefix(prefix, naming)))
    .sort((a, b) => namePrefix(b.prefix, naming).length - namePrefix(a.prefix, naming).length)[0];
  return owner?.name === server.name ? undefined : owner?.name;
}

/** Two servers whose names, URIs or paths collide. */
export interface Collision {
  readonly first: string;
  /** The later one, in file order. */
  readonly second: string;
  readonly message: string;
}

/**
 * Servers whose prefixes are equal in a name or in a URI. The form in names is the stricter one, so prefixes equal
 * there are equal here. Servers without a prefix may collide; that is resolved name by name at runtime.
 */
export function prefixCollisions(
  servers: readonly Pick<ServerConfig, "name" | "prefix">[],
): readonly Collision[] {
  const owners = new Map<string, Pick<ServerConfig, "name" | "prefix">>();
  const collisions: Collision[] = [];
  for (const server of servers) {
    if (server.prefix === "") continue;
    const key = uriPrefix(server.prefix);
    const owner = owners.get(key);
    if (owner === undefined) {
      owners.set(key, server);
      continue;
    }
    const how =
      owner.prefix === server.prefix
        ? `both have the prefix ${JSON.stringify(server.prefix)}`
        : `have prefixes that are the same in a URI, ${JSON.stringify(key)}`;
    collisions.push({
      first: owner.name,
      second: server.name,
      message: `servers ${JSON.stringify(owner.name)} and ${JSON.stringify(server.name)} ${how}; give one another "prefix"`,
    });
  }
  return collisions;
}
