/** Shortens the definitions of tools, as configured. */
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { compactSchema, cutText } from "./compact-schema.js";

/** How the definitions of a server's tools are shortened. */
export interface Shortening {
  /** The maximum length of a tool's description, in characters. Default: no limit. */
  readonly descriptionLength?: number;
  /** Whether texts for people are left out of input and output schemas. */
  readonly compactSchemas: boolean;
}

/**
 * The list entry of a tool, shortened; the same object where nothing changes.
 *
 * @param isOwnDescription false if the config has written the description, which stays
 */
export function shortenTool(item: JsonObject, shortening: Shortening, isOwnDescription = true): JsonObject {
  const { descriptionLength = Number.POSITIVE_INFINITY, compactSchemas } = shortening;
  const description = stringAt(item, "description");
  const changed = new Map<string, unknown>();
  if (description !== undefined && isOwnDescription) {
    changed.set("description", cutText(description, descriptionLength));
  }
  for (const member of compactSchemas ? ["inputSchema", "outputSchema"] : []) {
    const schema = objectAt(item, member);
    const known = [stringAt(item, "name"), stringAt(item, "title"), description];
    if (schema !== undefined)
      changed.set(
        member,
        compactSchema(
          schema,
          known.filter((text) => text !== undefined),
        ),
      );
  }
  const isChanged = [...changed].some(([member, value]) => value !== item[member]);
  return isChanged ? { ...item, ...Object.fromEntries(changed) } : item;
}
