/** Whose a name or URI is by what it begins with, whether or not that server lists it, or is there. */
import { exposedPrefix, type Naming } from "./naming.js";
import { type UriNamespace, uriNamespace } from "./uri-namespace.js";

export interface PrefixedServer {
  /** The server's key in the config. */
  readonly name: string;
  readonly prefix: string;
}

interface Owner {
  readonly server: string;
  readonly namePrefix: string;
  readonly uris: UriNamespace | undefined;
}

/** Maps the prefix of a name or URI to its server. */
export class NameOwners {
  /** Those with the longest prefix come first: `a__b__c` is the name of `a__b`, not of `a`. */
  readonly #owners: readonly Owner[];
  readonly #separator: string;

  /** @param reserved servers that the config leaves out; their names stay reserved */
  constructor(servers: readonly PrefixedServer[], reserved: readonly PrefixedServer[], naming: Naming) {
    const owners = new Map<string, Owner>();
    for (const { name: server, prefix } of [...servers, ...reserved]) {
      if (prefix === "") continue;
      const namePrefix = exposedPrefix(prefix, naming);
      if (!owners.has(namePrefix)) owners.set(namePrefix, { server, namePrefix, uris: uriNamespace(prefix) });
    }
    this.#owners = [...owners.values()].sort((a, b) => b.namePrefix.length - a.namePrefix.length);
    this.#separator = naming.separator;
  }

  /** The server whose prefix a tool or prompt name begins with; undefined where no server has it. */
  ofName(name: string): string | undefined {
    return this.#owners.find(({ namePrefix }) => name.startsWith(namePrefix))?.server;
  }

  /** The server whose prefix a URI has; undefined where no server has it. */
  ofUri(uri: string): string | undefined {
    return this.#owners.find(({ uris }) => uris?.reveal(uri) !== undefined)?.server;
  }

  /** Whether `name` begins with the prefix of another than `server`. */
  isForeign(server: string, name: string): boolean {
    const owner = this.ofName(name);
    return owner !== undefined && owner !== server;
  }

  /** The same of a URI. */
  isForeignUri(server: string, uri: string): boolean {
    const owner = this.ofUri(uri);
    return owner !== undefined && owner !== server;
  }

  /**
   * A foreign name with another character in the place of each separator that makes it so. What allows the names of
   * the server whose prefix it begins with does not allow this one.
   */
  unambiguousName(server: string, name: string): string {
    const instead = this.#separator.startsWith("-") ? "_" : "-";
    let apart = name;
    for (;;) {
      const owner = this.#owners.find(({ namePrefix }) => apart.startsWith(namePrefix));
      if (owner === undefined || owner.server === server) return apart;
      const { length } = owner.namePrefix;
      // A separator less each time.
      apart = apart.slice(0, length - this.#separator.length) + instead + apart.slice(length);
    }
  }
}

export const NO_OWNERS = new NameOwners([], [], { separator: "__", maxLength: 50 });
