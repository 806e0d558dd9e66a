/**
 * The OAuth client of the gateway, as functions: no state, no files, no timers except request timeouts.
 *
 * The order of a sign-in: `discover` → `register` → `authorizationRequest` → the browser → `authorizationResponse` →
 * `redeemCode`; later `refreshTokens`, at the end `revokeToken`. Every function takes the `fetch` that `guardedFetch`
 * makes for the server's URL. Responses of an authorization server are values (`TokenOutcome`); what prevents a sign-in
 * is thrown as an `OAuthError`.
 */
export {
  authorizationRequest,
  type PendingAuthorization,
} from "./authorization-request.js";
export { authorizationResponse } from "./authorization-response.js";
export { bearerChallenge } from "./challenge.js";
export { importSigningKey } from "./client-authentication.js";
export {
  type DeviceAuthorization,
  pollDeviceToken,
  startDeviceAuthorization,
} from "./device-grant.js";
export {
  type Discovery,
  discover,
  discoverIssuer,
} from "./discovery.js";
export { clientMetadataDocument } from "./dynamic-registration.js";
export {
  enterpriseTokens,
  TOKEN_TYPES,
  takesIdJag,
} from "./enterprise.js";
export { hasOAuthMetadata } from "./fetch-metadata.js";
export {
  clientCredentials,
  exchangeToken,
  redeemAssertion,
  redeemCode,
  refreshTokens,
} from "./grants.js";
export { idTokenClaims } from "./id-token.js";
export { suggestedQuirk } from "./known-deviations.js";
export { OAuthError } from "./oauth-error.js";
export { type ConfiguredClient, type RegistrationOptions, register } from "./registration.js";
export { audienceOf, canonicalUri, isSameResource } from "./resource-identity.js";
export { revokeToken } from "./revocation.js";
export type { TokenRequestContext } from "./token-request.js";
