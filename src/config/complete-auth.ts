/** Makes `auth` of the file complete, and finds what contradicts itself in it. */
import { isLoopback } from "../http/loopback.js";
import type { AuthShape } from "./auth-schema.js";
import type { AuthConfig, ListenConfig } from "./config.js";
import type { Findings } from "./findings.js";

/** `listen` as it will be, flags included. */
export function completeAuth(shape: AuthShape, listen: ListenConfig, findings: Findings): AuthConfig {
  const { keys, jwt, resource, requiredScopes } = shape;
  if (keys.length === 0 && jwt === undefined) {
    findings.add([], 'auth lets nobody in: it needs "keys" or "jwt"', "auth");
  }
  if (jwt === undefined && requiredScopes.length > 0) {
    findings.add(["auth"], 'auth.requiredScopes are scopes of tokens, and need "jwt"', "requiredScopes");
  }
  if (jwt !== undefined && resource === undefined && !isLoopback(listen.http.host)) {
    findings.add([], 'auth needs "resource": the URL under which hosts reach the gateway', "auth");
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
    ...(resource !== undefined && { resource }),
    requiredScopes,
  };
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === "string" ? [value] : value;
