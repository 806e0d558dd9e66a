/** Which ids may neither a key of the config nor a token give to a principal? */
import { foldedIdentifier } from "./readable-text.js";

/**
 * The owners of credentials that belong to no principal (`mcpServers.NAME.auth.as`); each is its own key.
 */
export const OWNER_IDS: ReadonlySet<string> = new Set(["shared", "service"]);

/** The ids that the gateway gives, and those that its records and pages use for something else. */
const RESERVED: ReadonlySet<string> = new Set(
  ["anonymous", "operator", "admin-token", ...OWNER_IDS].map(foldedIdentifier),
);

/** Lists of principals name groups so (`approvers`). */
const GROUP = /^group[:\ua789\u2236\u02d0\u05c3\u0589]/u;

/** Whether `id` is one of the gateway's own, or reads like one: in other case, width, letters or marks. */
export function isReservedId(id: string): boolean {
  const folded = foldedIdentifier(id);
  return RESERVED.has(folded) || GROUP.test(folded);
}

/** Whether a person may not have an id: reserved ones, and those that read like the id of a key. */
export function reservedIn(keys: readonly { readonly id: string }[]): (id: string) => boolean {
  const folded = new Set(keys.map(({ id }) => foldedIdentifier(id)));
  return (id) => isReservedId(id) || folded.has(foldedIdentifier(id));
}
