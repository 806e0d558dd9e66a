/**
 * Discovers the authorization server of an MCP server (2026-07-28: basic/authorization/authorization-server-discovery).
 */
import type { GuardedFetch } from "../../../outgoing/guarded-fetch.js";
import { named } from "../../../outgoing/guarded-fetch.js";
import type { AuthorizationServer, Discovered, Quirks, Step } from "../types.js";
import { findAuthorizationServer } from "./authorization-server.js";
import { type BearerChallenge, bearerChallenge } from "./challenge.js";
import { knownDeviations } from "./known-deviations.js";
import { OAuthError } from "./oauth-error.js";
import { findProtectedResource, type ProtectedResource } from "./protected-resource.js";
import { canonicalUri } from "./resource-identity.js";

/** Input of discovery. */
export interface DiscoveryOptions {
  /** The URL of the MCP server, as written in the config. */
  readonly serverUrl: string;
  /** `WWW-Authenticate` of the server's 401; undefined if it sent none. */
  readonly challenge: string | undefined;
  /** `auth.issuer`: the authorization server to use, instead of those that the server names. */
  readonly issuer?: string | undefined;
  /** The pinned authorization server: used if the server names it, in whatever position. */
  readonly pinned?: string | undefined;
  /** `auth.resource`: the resource that tokens are for, instead of the server's URL. */
  readonly resource?: string | undefined;
  readonly quirks?: Quirks | undefined;
  /** Made with the same `serverUrl`. */
  readonly fetch: GuardedFetch;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The discovered server and every step. A step may have failed although discovery succeeded: `doctor` shows the rule
 * and the quirk.
 */
export interface Discovery {
  readonly discovered: Discovered;
  readonly steps: readonly Step[];
}

/**
 * Finds the protected resource metadata (challenge, path, root), then that of the first of its authorization servers
 * with valid metadata. Servers of 2025-03-26 have no resource metadata: their authorization server is the origin of the
 * URL.
 *
 * @throws OAuthError with the steps, the violated rule and what to do; `isTemporary` after 5xx or no connection
 */
export async function discover(options: DiscoveryOptions): Promise<Discovery> {
  const { serverUrl, quirks = {} } = options;
  const challenge = bearerChallenge(options.challenge);
  const steps: Step[] = [challengeStep(challenge)];
  const resource = await findProtectedResource({
    ...options,
    accepted: options.resource,
    challenge,
    steps,
  });
  const issuers = issuersOf(resource, options, steps);
  const authorizationServer = await findAuthorizationServer(issuers, {
    ...options,
    quirks,
    steps,
    // Only for a server without resource metadata: any other has named its authorization server.
    hasDefaultEndpoints: resource === undefined && options.issuer === undefined,
  });
  steps.push(pkceStep(authorizationServer, quirks), ...knownDeviations(authorizationServer, quirks));
  const scope = challenge?.scope?.split(" ").filter((one) => one !== "");
  return {
    discovered: {
      resource: resource?.resource ?? canonicalUri(options.resource ?? serverUrl),
      ...(resource?.isWider === true && { isWider: true }),
      authorizationServer,
      scopes: scope ?? resource?.scopes ?? [],
    },
    steps,
  };
}

/**
 * Finds the metadata of an issuer from the config, such as the company's identity provider.
 *
 * @param fetch made with the issuer as `serverUrl`
 * @throws OAuthError with the steps
 */
export async function discoverIssuer(
  issuer: string,
  { quirks = {}, fetch, signal }: Pick<DiscoveryOptions, "quirks" | "fetch" | "signal">,
): Promise<{ readonly authorizationServer: AuthorizationServer; readonly steps: readonly Step[] }> {
  const steps: Step[] = [];
  const options = { serverUrl: issuer, quirks, fetch, signal, steps, hasDefaultEndpoints: false };
  const authorizationServer = await findAuthorizationServer([issuer], options);
  return { authorizationServer, steps };
}

const challengeStep = (challenge: BearerChallenge | undefined): Step => {
  const what = "read WWW-Authenticate of the 401";
  if (challenge === undefined) {
    return { what, outcome: "skipped", reason: "There is no challenge of the scheme Bearer." };
  }
  if (challenge.resourceMetadata !== undefined) return { what, outcome: "ok" };
  return { what, outcome: "skipped", reason: "It names no resource_metadata (RFC 9728, 5.1)." };
};

/** The issuers to try, in order. */
function issuersOf(
  resource: ProtectedResource | undefined,
  { serverUrl, issuer, pinned }: DiscoveryOptions,
  steps: Step[],
): readonly string[] {
  if (issuer !== undefined) {
    steps.push({ what: `use the issuer of the config, ${named(issuer)}`, outcome: "ok" });
    return [issuer];
  }
  if (resource !== undefined) {
    const { authorizationServers: all } = resource;
    // Another one is no replacement, also while the pinned one is away.
    const kept = pinned === undefined ? undefined : all.find((each) => isSame(each, pinned));
    if (kept !== undefined) return [kept];
    if (all.length > 0) return all;
    const sentence = "The resource metadata names no authorization_servers; MCP requires at least one.";
    steps.push({ what: "read authorization_servers", outcome: "failed", reason: sentence });
    throw new OAuthError(`${named(serverUrl)}: ${sentence} Set auth.issuer in the config.`, { steps });
  }
  const { origin } = new URL(serverUrl);
  steps.push({
    what: `use ${origin} as the authorization server`,
    outcome: "ok",
    reason: "The server has no resource metadata (RFC 9728), as servers of 2025-03-26.",
  });
  return [origin];
}

const isSame = (one: string, other: string): boolean => one.replace(/\/$/, "") === other.replace(/\/$/, "");

function pkceStep({ metadata }: AuthorizationServer, { assumeS256 = false }: Quirks): Step {
  const what = "check PKCE with S256";
  const methods = metadata.code_challenge_methods_supported;
  if (Array.isArray(methods) && methods.includes("S256")) return { what, outcome: "ok" };
  const reason =
    methods === undefined
      ? "The metadata has no code_challenge_methods_supported, so PKCE may not be there (MCP requires it)."
      : "code_challenge_methods_supported does not name S256, which MCP requires.";
  return assumeS256
    ? { what, outcome: "ok", reason: `${reason} The quirk assume-s256 allows that.` }
    : { what, outcome: "failed", reason, quirk: "assume-s256" };
}
