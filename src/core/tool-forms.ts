/** In which form a feature shows the definitions of tools: those of a server everywhere, and all of them at single URLs. */
import type { JsonObject } from "../wire/json.js";

/**
 * The entry that hosts see in place of `item`; the same object where nothing changes.
 *
 * @param isOwnDescription false if the config has written the description
 */
export type ServerForm = (item: JsonObject, isOwnDescription: boolean) => JsonObject;

/** The form of the entries at a URL. */
export interface EndpointForm {
  /** The entry that hosts see there in place of `item`; the same object where nothing changes. */
  show(item: JsonObject): JsonObject;
  /** Does the work of `show`, which is cheap afterwards; returns what it took, in characters searched. */
  prepare(item: JsonObject): number;
}

/** The forms of one config. */
export interface ToolForms {
  /** Undefined where the tools of the server are shown unchanged. */
  ofServer(server: string): ServerForm | undefined;
  /** @param endpoint "" for the whole gateway, or the NAME of `/mcp/NAME`; undefined where entries have no other form there */
  atEndpoint(endpoint: string): EndpointForm | undefined;
}
