/** Which principal is it? The pair of an id and the source that vouches for it. */
import type { Principal } from "./client.js";

/** Vouches for ids: a key of the config, the gateway itself, the user who has started this process, or a token issuer. */
export type PrincipalSource = "key" | "gateway" | "local" | { readonly issuer: string };

/** Ids are free of control characters, and so are issuers. */
const SEPARATOR = "\0";

/** The principal that `source` calls `id`. All principals except `ANONYMOUS` are made here. */
export function principalOf(
  source: PrincipalSource,
  id: string,
  { groups = [], claims = {}, ...rest }: Partial<Pick<Principal, "groups" | "claims" | "byToken">> = {},
): Principal {
  const name = typeof source === "string" ? source : `issuer ${source.issuer}`;
  return { id, key: `${id}${SEPARATOR}${name}`, groups, claims, ...rest };
}

/**
 * The text by which state is kept for a principal: sessions, leases, limits, approvals, credentials. Equal ids of two
 * sources have different keys.
 */
export const principalKey = ({ key, id }: Pick<Principal, "key" | "id">): string => key ?? id;

/** Whether both are the same principal: another credential of it may have other groups and claims. */
export const isSamePrincipal = (one: Principal, other: Principal): boolean =>
  principalKey(one) === principalKey(other);

/** Whether `source` vouches for the principal of this key. A key that is a plain id is of no source, and of any. */
export const isFrom = (key: string, source: PrincipalSource): boolean =>
  key === idOfKey(key) || key === principalOf(source, idOfKey(key)).key;

/** The id in a key, for people: logs, rows, pages. */
export function idOfKey(key: string): string {
  const end = key.indexOf(SEPARATOR);
  return end === -1 ? key : key.slice(0, end);
}
