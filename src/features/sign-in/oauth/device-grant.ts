/** Device authorization grant (RFC 8628): a code for the person, then polling. */
import { deviceAuthorizationRequest } from "oauth4webapi";
import { isLoopback } from "../../../http/loopback.js";
import { isObject, numberOf, stringAt } from "../../../wire/json.js";
import { parseJson } from "../../../wire/json-text.js";
import type { TokenOutcome } from "../types.js";
import { clientAuthentication } from "./client-authentication.js";
import { scopeParameter } from "./grants.js";
import { tokenAnswer } from "./token-answer.js";
import {
  failure,
  given,
  metadataOf,
  requestOptions,
  resourceOf,
  type TokenRequestContext,
  tokenRequest,
} from "./token-request.js";

/** A pending device authorization. `deviceCode` is a secret. */
export interface DeviceAuthorization {
  readonly kind: "started";
  readonly deviceCode: string;
  /** The person types it at `verificationUri`. */
  readonly userCode: string;
  readonly verificationUri: string;
  /** The URL that contains the code. */
  readonly verificationUriComplete?: string;
  /** ms since 1970. */
  readonly expiresAt: number;
  /** Polling interval; 5 s longer after each `slow_down`. */
  readonly intervalMs: number;
}

/** In seconds (RFC 8628, 3.2). */
const DEFAULT_INTERVAL_S = 5;
const DEFAULT_EXPIRY_S = 600;

/** Starts a device authorization (RFC 8628, 3.1). */
export async function startDeviceAuthorization(
  context: TokenRequestContext,
  deviceAuthorizationEndpoint: string,
  scopes: readonly string[],
): Promise<DeviceAuthorization | Exclude<TokenOutcome, { kind: "tokens" }>> {
  const askedAt = context.now();
  const { client } = context;
  const authentication = clientAuthentication(client, context.quirks, context.signingKey);
  try {
    const response = await deviceAuthorizationRequest(
      metadataOf(context, { device_authorization_endpoint: deviceAuthorizationEndpoint }),
      { client_id: client.clientId },
      authentication,
      given({ scope: scopeParameter(scopes), resource: resourceOf(context) }),
      requestOptions(context),
    );
    const started = await readStarted(response.clone(), askedAt);
    if (started !== undefined) return started;
    const outcome = await tokenAnswer(response, { askedAt, secrets: [client.clientSecret ?? ""] });
    if (outcome.kind !== "tokens" && outcome.kind !== "ambiguous") return outcome;
    return {
      kind: "refused",
      error: "invalid_response",
      description: "the answer has no usable device code",
    };
  } catch (error) {
    const outcome = failure(error);
    return outcome.kind === "tokens" ? { kind: "refused", error: "invalid_response" } : outcome;
  }
}

async function readStarted(response: Response, askedAt: number): Promise<DeviceAuthorization | undefined> {
  if (response.status !== 200 && response.status !== 201) return undefined;
  let answer: unknown;
  try {
    answer = parseJson(await response.text());
  } catch {
    return undefined;
  }
  if (!isObject(answer)) return undefined;
  const deviceCode = stringAt(answer, "device_code");
  const userCode = stringAt(answer, "user_code");
  // Google and older servers write `verification_url`.
  const uri = stringAt(answer, "verification_uri") ?? stringAt(answer, "verification_url");
  if (deviceCode === undefined || userCode === undefined || uri === undefined || !isPage(uri))
    return undefined;
  const complete = stringAt(answer, "verification_uri_complete");
  const seconds = (name: string, otherwise: number): number => {
    const value = numberOf(answer[name]);
    return value !== undefined && value > 0 ? value : otherwise;
  };
  return {
    kind: "started",
    deviceCode,
    userCode,
    verificationUri: uri,
    ...(complete !== undefined && isPage(complete) && { verificationUriComplete: complete }),
    expiresAt: askedAt + seconds("expires_in", DEFAULT_EXPIRY_S) * 1000,
    intervalMs: seconds("interval", DEFAULT_INTERVAL_S) * 1000,
  };
}

/** A URL that a browser may open: https:, or http: on loopback. */
function isPage(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

/** The person has not decided yet; after `slow_down` the interval grows by 5 s. */
export interface DevicePending {
  readonly kind: "pending";
  readonly slowDown: boolean;
}

/** Polls once (RFC 8628, 3.4). `refused` with `access_denied` or `expired_token` is final. */
export async function pollDeviceToken(
  context: TokenRequestContext,
  deviceCode: string,
): Promise<TokenOutcome | DevicePending> {
  const grant = "urn:ietf:params:oauth:grant-type:device_code";
  const outcome = await tokenRequest(context, grant, { device_code: deviceCode }, ["device_code"]);
  if (outcome.kind !== "refused") return outcome;
  if (outcome.error === "authorization_pending") return { kind: "pending", slowDown: false };
  return outcome.error === "slow_down" ? { kind: "pending", slowDown: true } : outcome;
}
