/** Finds and validates the metadata of an authorization server (RFC 8414; OpenID Connect Discovery 1.0). */

import { isLoopback } from "../../../http/loopback.js";
import { type GuardedFetch, named } from "../../../outgoing/guarded-fetch.js";
import { type JsonObject, stringAt } from "../../../wire/json.js";
import type { AuthorizationServer, Quirks, Step } from "../types.js";
import { fetchMetadata, issuerMetadataUrls } from "./fetch-metadata.js";
import { OAuthError, quotedText } from "./oauth-error.js";

interface Options {
  readonly serverUrl: string;
  readonly quirks: Quirks;
  readonly fetch: GuardedFetch;
  readonly signal?: AbortSignal | undefined;
  /** Steps are appended. */
  readonly steps: Step[];
  /** Whether `/authorize`, `/token` and `/register` are assumed without metadata (2025-03-26). */
  readonly hasDefaultEndpoints: boolean;
}

/**
 * The first of `issuers` with valid metadata. Their well-known URLs are requested in the order of the specification.
 *
 * @throws OAuthError if none has any
 */
export async function findAuthorizationServer(
  issuers: readonly string[],
  options: Options,
): Promise<AuthorizationServer> {
  const { serverUrl, steps, hasDefaultEndpoints } = options;
  /** The first failed step that may succeed later, or with a quirk. */
  let temporary: Step | undefined;
  let mendable: Step | undefined;
  for (const issuer of issuers) {
    const reason = whyNoIssuer(issuer, serverUrl);
    if (reason !== undefined) {
      steps.push({ what: `use the issuer ${quotedText(named(issuer))}`, outcome: "failed", reason });
      continue;
    }
    for (const url of issuerMetadataUrls(issuer)) {
      const found = await fetchMetadata(url, options.fetch, options.signal);
      steps.push(found.step);
      if (found.isUnknown) temporary ??= found.step;
      if (found.document === undefined) continue;
      const failed = checks(found.document, issuer, options);
      if (failed === undefined) {
        const own = stringAt(found.document, "issuer") ?? issuer;
        return {
          issuer: own,
          ...(own !== issuer && { requested: issuer }),
          metadata: found.document,
        };
      }
      if (failed.quirk !== undefined) mendable ??= failed;
      steps.push(failed);
    }
  }
  if (hasDefaultEndpoints && temporary === undefined && mendable === undefined) {
    return defaultEndpoints(issuers[0] ?? new URL(serverUrl).origin, steps);
  }
  const shown = mendable ?? temporary ?? steps.findLast(({ outcome }) => outcome === "failed");
  const quirk = mendable?.quirk;
  const advice = quirk === undefined ? "" : ` If that is intended, set the quirk ${quirk} for this server.`;
  throw new OAuthError(
    `${named(serverUrl)}: no authorization server has usable metadata. ${shown?.what}: ${shown?.reason}${advice}`,
    { steps, isTemporary: temporary !== undefined && mendable === undefined, quirk },
  );
}

function whyNoIssuer(issuer: string, serverUrl: string): string | undefined {
  if (!URL.canParse(issuer)) return "It is no URL.";
  const { search, hash, username } = new URL(issuer);
  if (username !== "") return "It contains credentials.";
  if (search !== "" || hash !== "") return "An issuer has no query and no fragment (RFC 8414, 2).";
  return isSecure(issuer, serverUrl) ? undefined : "It is not https: (RFC 8414, 2).";
}

/** The failed step; undefined if the document is valid. */
function checks(document: JsonObject, issuer: string, options: Options): Step | undefined {
  const { quirks, steps, serverUrl } = options;
  const mismatch = issuerMismatch(document, issuer, quirks);
  if (mismatch !== undefined) return mismatch;
  steps.push({ what: "check the issuer of the metadata", outcome: "ok" });
  const what = "check the endpoints";
  if (stringAt(document, "token_endpoint") === undefined) {
    return { what, outcome: "failed", reason: "The metadata names no token_endpoint (RFC 8414, 2)." };
  }
  for (const [name, value] of Object.entries(document)) {
    if (!name.endsWith("_endpoint")) continue;
    const reason = typeof value === "string" ? whyNoEndpoint(value, serverUrl) : "is no URL";
    if (reason !== undefined) {
      return {
        what,
        outcome: "failed",
        reason: `${name} ${reason}; MCP requires https: for every endpoint.`,
      };
    }
  }
  steps.push({ what, outcome: "ok" });
  return undefined;
}

/**
 * Checks the scheme only: addresses are checked when an endpoint is fetched, and a browser opens the authorization
 * endpoint.
 */
function whyNoEndpoint(endpoint: string, serverUrl: string): string | undefined {
  if (!URL.canParse(endpoint)) return "is no URL";
  return isSecure(endpoint, serverUrl) ? undefined : "is not https:";
}

/** https, or http where both hosts are loopback (2026-07-28: basic/authorization/security-considerations). */
function isSecure(url: string, serverUrl: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return true;
  return protocol === "http:" && isLoopback(hostname) && isLoopback(new URL(serverUrl).hostname);
}

/**
 * RFC 8414, 3.3: the issuer in the metadata must be identical to the requested one. Compared as strings; a quirk of the
 * config may allow a trailing slash, or name the expected issuer.
 */
function issuerMismatch(document: JsonObject, issuer: string, quirks: Quirks): Step | undefined {
  const what = "check the issuer of the metadata";
  const written = stringAt(document, "issuer");
  if (written === issuer || (written !== undefined && written === quirks.issuer)) return undefined;
  const differsInSlash = written !== undefined && withoutSlash(written) === withoutSlash(issuer);
  if (differsInSlash && quirks.issuerSlash === true) return undefined;
  if (written === undefined) {
    return { what, outcome: "failed", reason: "The metadata names no issuer (RFC 8414, 2)." };
  }
  const shown = quotedText(written);
  return {
    what,
    outcome: "failed",
    reason: `The metadata names the issuer ${shown}, and must name exactly ${issuer} (RFC 8414, 3.3).`,
    quirk: differsInSlash ? "issuer-slash" : `issuer: ${shown}`,
  };
}

const withoutSlash = (url: string): string => url.replace(/\/$/, "");

/** 2025-03-26, basic/authorization 2.3.3: fallbacks for servers without metadata discovery. PKCE is required there. */
function defaultEndpoints(origin: string, steps: Step[]): AuthorizationServer {
  steps.push({
    what: `use the endpoints /authorize, /token and /register of ${origin}`,
    outcome: "ok",
    reason: "There is no metadata of an authorization server either, as at servers of 2025-03-26.",
  });
  return {
    issuer: origin,
    metadata: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_post", "client_secret_basic"],
    },
  };
}
