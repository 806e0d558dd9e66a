/** Which person do the claims of a token name, and which groups? */
import { type JsonObject, objectAt } from "../wire/json.js";
import { identifierFault } from "../wire/readable-text.js";

const MAX_ID_LENGTH = 500;

/** A claim of the gateway's own tokens: the issuer at which the person has signed in. */
export const PERSON_ISSUER = "person_iss";

/**
 * Why `sub` cannot be the id of a principal, as the end of a sentence; undefined if it can. Only strings are accepted:
 * a list, a number or an object could read the same as another principal's id once written as text.
 */
export function subjectFault(sub: unknown): string | undefined {
  if (typeof sub !== "string") return "is not a string";
  return sub.length > MAX_ID_LENGTH || identifierFault(sub) !== undefined
    ? "is empty, too long or has hidden characters"
    : undefined;
}

/** The groups in the claim `name`. A claim of that exact name (URLs have dots) wins over a dotted path. */
export function groupsIn(claims: JsonObject, name: string): readonly string[] {
  const [leaf = name, ...owners] = name.split(".").reverse();
  const owner = owners.reverse().reduce<JsonObject | undefined>(objectAt, claims);
  const found = Object.hasOwn(claims, name)
    ? claims[name]
    : owner !== undefined && Object.hasOwn(owner, leaf)
      ? owner[leaf]
      : undefined;
  if (typeof found === "string") return [found];
  return Array.isArray(found) ? found.filter((group) => typeof group === "string") : [];
}
