/** Completes `auth` of the file: defaults are filled in, times are in ms. */
import { isLoopback } from "../http/loopback.js";
import type { AuthConfig, SignInConfig } from "./auth-config.js";
import type { AuthShape } from "./auth-schema.js";
import type { ListenConfig } from "./config.js";
import type { Findings } from "./findings.js";

/** Adds contradictions within `auth` to `findings`. `listen` includes flags; `signIn` is what a feature has of it. */
export function completeAuth(
  shape: AuthShape,
  signIn: SignInConfig | undefined,
  listen: ListenConfig,
  findings: Findings,
): AuthConfig {
  const { keys = [], jwt, requiredScopes } = shape;
  const { publicUrl, path, host } = listen.http;
  const resource = shape.resource ?? (publicUrl === undefined ? undefined : `${publicUrl}${path}`);
  // An empty list is what revoking the last key leaves.
  if (shape.keys === undefined && jwt === undefined && signIn === undefined) {
    findings.add([], 'auth lets nobody in: it needs "keys", "jwt" or "signIn"', "auth");
  }
  if (jwt === undefined && signIn === undefined && requiredScopes.length > 0) {
    findings.add(
      ["auth"],
      'auth.requiredScopes are scopes of tokens, and need "jwt" or "signIn"',
      "requiredScopes",
    );
  }
  if (jwt !== undefined && resource === undefined && !isLoopback(host)) {
    findings.add([], 'auth needs "resource": the URL under which hosts reach the gateway', "auth");
  }
  if (signIn !== undefined && publicUrl === undefined && !isLoopback(host)) {
    const what = "the https URL under which browsers reach the gateway";
    findings.add(["auth"], `auth.signIn needs "publicUrl" in listen.http: ${what}`, "signIn");
  }
  if (jwt !== undefined && signIn !== undefined && jwt.issuer !== signIn.issuer) {
    const what = "a person is known by its sub alone, and equal ones of two issuers may be two persons";
    findings.add(["auth", "signIn"], `auth.signIn.issuer must be that of auth.jwt: ${what}`, "issuer");
  }
  const hashes = new Set<string>();
  const complete = keys.map(({ id, hash, groups, expires }, index) => {
    const digest = hash.replace(/^sha256:/i, "").toLowerCase();
    if (hashes.has(digest)) {
      findings.add(["auth", "keys", index, "hash"], `auth.keys[${index}].hash is that of an earlier key`);
    }
    hashes.add(digest);
    return { id, digest, groups, ...(expires !== undefined && { expiresAt: Date.parse(expires) }) };
  });
  return {
    keys: complete,
    ...(jwt !== undefined && { jwt: { ...jwt, audience: listOf(jwt.audience) } }),
    ...(signIn !== undefined && { signIn }),
    ...(resource !== undefined && { resource }),
    requiredScopes,
  };
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === "string" ? [value] : value;
