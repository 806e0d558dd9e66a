/** An authentication from a config, and its result for request headers. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { AuthConfig, JwtConfig, KeyConfig } from "../../../src/config/auth-config.js";
import type { Principal } from "../../../src/core/client.js";
import {
  type Authentication,
  type AuthenticationOptions,
  createAuthentication,
} from "../../../src/downstream/authenticate/authentication.js";
import { HttpRefusal } from "../../../src/downstream/http-errors.js";
import { AUDIENCE } from "../../support/issuer.js";

export const keyConfig = (id: string, key: string, more: Partial<KeyConfig> = {}): KeyConfig => ({
  id,
  digest: createHash("sha256").update(key).digest("hex"),
  groups: [],
  ...more,
});

export const jwtConfig = (issuer: string, more: Partial<JwtConfig> = {}): JwtConfig => ({
  issuer,
  audience: [],
  algorithms: ["RS256", "ES256", "EdDSA"],
  groupsClaim: "groups",
  scopes: [],
  ...more,
});

export function authenticationOf(
  config: Partial<AuthConfig>,
  options: Partial<AuthenticationOptions> = {},
): Authentication & { readonly failures: string[] } {
  const failures: string[] = [];
  const auth = { keys: [], requiredScopes: [], resource: AUDIENCE, ...config };
  const made = createAuthentication(auth, {
    url: () => "http://127.0.0.1:8080/mcp",
    onFailure: (reason) => failures.push(reason),
    ...options,
  });
  return Object.assign(made, { failures });
}

/** The principal, or the refusal, for these headers. */
export async function outcome(
  authentication: Authentication,
  headers: IncomingHttpHeaders,
): Promise<Principal | { readonly status: number; readonly message: string; readonly challenge?: string }> {
  try {
    return await authentication.authenticate({ headers });
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error;
    const challenge = error.headers["www-authenticate"];
    return {
      status: error.status,
      message: error.message,
      ...(challenge !== undefined && { challenge }),
    };
  }
}

export const bearer = (credential: string): IncomingHttpHeaders => ({
  authorization: `Bearer ${credential}`,
});
