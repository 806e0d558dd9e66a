/** Reads the headers that the config carries to servers from the requests of hosts; equal values are one object. */
import type { IncomingHttpHeaders } from "node:http";
import { LRUCache } from "lru-cache";
import type { Config } from "../config/config.js";
import type { Principal } from "../core/client.js";
import { badRequest } from "../core/errors.js";
import { HostHeaders } from "../core/host-headers.js";
import { writeJson } from "../wire/json-text.js";

/** The longest value (characters), and all values of a request together. */
const MAX_VALUE = 4_096;
const MAX_VALUES = 16_384;
/** Sets of values that are remembered of one principal; of others the objects are made again. */
const MAX_SETS = 500;

/** The header sets of all hosts. */
export class HostHeaderSets {
  #namesOf: { readonly servers: Config["servers"]; readonly names: readonly string[] } | undefined;
  readonly #sets = new WeakMap<Principal, LRUCache<string, HostHeaders>>();

  /** The names in requests of hosts that some server of the config gets, in lower case. */
  names({ servers }: Config): readonly string[] {
    if (this.#namesOf?.servers !== servers) {
      const carried = servers.flatMap(({ transport }) =>
        "forwardHeaders" in transport ? (transport.forwardHeaders ?? []) : [],
      );
      this.#namesOf = { servers, names: [...new Set(carried.map(({ from }) => from))].toSorted() };
    }
    return this.#namesOf.names;
  }

  /**
   * The principal with those headers of its request; itself where there is none.
   *
   * @throws GatewayError `bad_request` for a value that cannot be carried
   */
  principalWith(config: Config, principal: Principal, headers: IncomingHttpHeaders): Principal {
    const names = this.names(config);
    if (names.length === 0) return principal;
    const values = names.flatMap((name) => {
      const value = carriedValue(headers, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    if (values.length === 0) return principal;
    const text = writeJson(values);
    if (text.length > MAX_VALUES)
      throw badRequest(`the headers ${names.join(", ")} are together longer than ${MAX_VALUES} characters`);
    return this.#setOf(principal, text, new Map(values)).attachTo(principal);
  }

  #setOf(principal: Principal, text: string, values: ReadonlyMap<string, string>): HostHeaders {
    let sets = this.#sets.get(principal);
    if (sets === undefined) {
      sets = new LRUCache<string, HostHeaders>({ max: MAX_SETS });
      this.#sets.set(principal, sets);
    }
    const known = sets.get(text);
    if (known !== undefined) return known;
    const made = new HostHeaders(values);
    sets.set(text, made);
    return made;
  }
}

/** An empty value is none. Several lines of one name are one list (RFC 9110, 5.3), as Node joins them. */
function carriedValue(headers: IncomingHttpHeaders, name: string): string | undefined {
  const given = headers[name];
  const value = (Array.isArray(given) ? given.join(", ") : given)?.trim();
  if (value === undefined || value === "") return undefined;
  if (value.length > MAX_VALUE) throw badRequest(`the header ${name} is longer than ${MAX_VALUE} characters`);
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw badRequest(`the header ${name} has characters that no header may have`);
  return value;
}
