/** The command that signs a person in at a server. */
import { ANONYMOUS, type Principal } from "./client.js";
import { idOfKey, principalKey } from "./principal.js";

/** `as`: the argument of `--as`; absent where one sign-in serves all, or a single user. */
export const signInCommand = (server: string, as?: string): string =>
  `cardea login ${server}${as === undefined ? "" : ` --as ${as}`}`;

/** The argument of `--as` for an id, quoted for a shell; undefined for a host without credentials. */
export function asArgument(id: string): string | undefined {
  if (id === ANONYMOUS.id) return undefined;
  return /^[\w@.:+/=-]+$/.test(id) ? id : `'${id.replaceAll("'", `'\\''`)}'`;
}

/** The same for the principal of a call. */
export const asOf = (principal: Principal): string | undefined => asOfKey(principalKey(principal));

/** The same for the key of credentials; undefined for those of all principals, which no principal has made. */
export const asOfKey = (key: string | undefined): string | undefined =>
  key === undefined || idOfKey(key) === key ? undefined : asArgument(idOfKey(key));
