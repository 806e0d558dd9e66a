/**
 * The OAuth client of the gateway, as functions: no state, no files, no timers but the limits of requests.
 *
 * The order of a sign-in: `discover` → `register` → `authorizationRequest` → the browser → `authorizationResponse` →
 * `redeemCode`; later `refreshTokens`, at the end `revokeToken`. Every function takes the `fetch` that `guardedFetch` makes for
 * the server's URL. What an authorization server does is a value (`TokenOutcome`); what prevents a sign-in is an `OAuthError`.
 */
export {
  type AuthorizationRequestOptions,
  authorizationRequest,
  type PendingAuthorization,
} from "./authorization-request.js";
export { type AuthorizationResponse, authorizationResponse } from "./authorization-response.js";
export { type BearerChallenge, bearerChallenge } from "./challenge.js";
export { importSigningKey, type SigningKey } from "./client-authentication.js";
export { type ClientMetadataDocumentOptions, clientMetadataDocument } from "./client-metadata-document.js";
export {
  type DeviceAuthorization,
  type DevicePending,
  pollDeviceToken,
  startDeviceAuthorization,
} from "./device-grant.js";
export {
  canonicalUri,
  type Discovery,
  type DiscoveryOptions,
  discover,
  discoverIssuer,
} from "./discovery.js";
export {
  type EnterpriseOutcome,
  type EnterpriseRequest,
  enterpriseTokens,
  TOKEN_TYPES,
  takesIdJag,
} from "./enterprise.js";
export {
  clientCredentials,
  exchangeToken,
  redeemAssertion,
  redeemCode,
  refreshTokens,
  type TokenExchange,
} from "./grants.js";
export { type ExpectedIdToken, type IdTokenClaims, idTokenClaims } from "./id-token.js";
export { suggestedQuirk } from "./known-deviations.js";
export { OAuthError } from "./oauth-error.js";
export { type ConfiguredClient, type RegistrationOptions, register } from "./registration.js";
export { type RevocationOutcome, revokeToken } from "./revocation.js";
export type { TokenRequestContext } from "./token-request.js";
