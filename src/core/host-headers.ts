/** Which headers of a host's HTTP request does the config carry to servers, and with which values? */
import { createHmac, randomBytes } from "node:crypto";
import { writeJson } from "../wire/json-text.js";
import type { Principal } from "./client.js";

/** A header that is carried to one server: its name in the host's request, and in that to the server; in lower case. */
export interface CarriedHeader {
  readonly from: string;
  readonly to: string;
}

/** What one server gets. */
export interface SelectedHeaders {
  /** By the names for the server. */
  readonly headers: Readonly<Record<string, string>>;
  /** Equal for equal values, in this process. It says nothing of them. */
  readonly digest: string;
}

/** The values of one host. They are private, so that no log line and no JSON has them. */
export class HostHeaders {
  readonly #values: ReadonlyMap<string, string>;
  readonly #selected = new WeakMap<readonly CarriedHeader[], SelectedHeaders>();
  readonly #principals = new WeakMap<Principal, Principal>();
  /** Of all values, as that of `SelectedHeaders`. */
  readonly digest: string;

  /** @param values by the names in the host's request, in lower case; at least one */
  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
    this.digest = digestOf(values);
  }

  /** The principal with these headers: the same object for the same principal. */
  attachTo(principal: Principal): Principal {
    let attached = this.#principals.get(principal);
    if (attached === undefined) {
      attached = { ...principal, headers: this };
      this.#principals.set(principal, attached);
    }
    return attached;
  }

  /** Those of them that a server gets; undefined where there is none. `carried` is compared by identity. */
  select(carried: readonly CarriedHeader[]): SelectedHeaders | undefined {
    let selected = this.#selected.get(carried);
    if (selected === undefined) {
      selected = this.#selectedOf(carried);
      this.#selected.set(carried, selected);
    }
    return Object.keys(selected.headers).length === 0 ? undefined : selected;
  }

  /** Whether no value differs from that of `others`, which may have more. */
  isWithin(others: HostHeaders | undefined): boolean {
    if (others === undefined) return false;
    return others === this || [...this.#values].every(([name, value]) => others.#values.get(name) === value);
  }

  #selectedOf(carried: readonly CarriedHeader[]): SelectedHeaders {
    const found = carried.flatMap(({ from, to }): [string, string][] => {
      const value = this.#values.get(from);
      return value === undefined ? [] : [[to, value]];
    });
    return { headers: Object.fromEntries(found), digest: digestOf(new Map(found)) };
  }
}

/** The headers of `client` that the server of `carried` gets. */
export const headersFor = (
  { headers }: Pick<Principal, "headers">,
  carried: readonly CarriedHeader[] | undefined,
): SelectedHeaders | undefined =>
  headers === undefined || carried === undefined ? undefined : headers.select(carried);

/** Of this process: without it no value can be guessed from its digest. */
const KEY = randomBytes(32);

const digestOf = (values: ReadonlyMap<string, string>): string =>
  createHmac("sha256", KEY)
    .update(writeJson([...values].toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("base64url")
    .slice(0, 22);
