/** Validates the content of a record: the seal proves that the vault wrote it, not which version of the vault. */
import type { ClientRegistration, Credential } from "../sign-in/types.js";
import { isObject } from "../wire/json.js";

const isText = (value: unknown): value is string => typeof value === "string";

/** Whether it is a sign-in record. */
export const isCredential = (value: unknown): value is Credential =>
  isObject(value) &&
  Number.isSafeInteger(value.generation) &&
  [value.server, value.principal, value.issuer, value.resource, value.tokenEndpoint, value.grant].every(
    isText,
  ) &&
  isClient(value.client) &&
  Array.isArray(value.askedScopes) &&
  (value.tokens === undefined || (isObject(value.tokens) && isText(value.tokens.accessToken)));

/** Whether it is a registration record. */
export const isClient = (value: unknown): value is ClientRegistration =>
  isObject(value) && isText(value.clientId) && isText(value.tokenEndpointAuthMethod) && isText(value.source);
