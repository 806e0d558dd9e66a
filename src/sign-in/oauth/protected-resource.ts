/** What does an MCP server say about itself as a protected resource (RFC 9728)? */
import { type GuardedFetch, named } from "../../http/guarded-fetch.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import type { Step } from "../types.js";
import type { BearerChallenge } from "./challenge.js";
import { type FetchedMetadata, fetchMetadata } from "./fetch-metadata.js";
import { OAuthError, quotedText } from "./oauth-error.js";
import { resourceMetadataUrls } from "./well-known-urls.js";

/** The members of the metadata that are used. */
export interface ProtectedResource {
  /** As the metadata writes it. */
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
}

interface Options {
  readonly serverUrl: string;
  readonly challenge: BearerChallenge | undefined;
  readonly fetch: GuardedFetch;
  readonly signal?: AbortSignal | undefined;
  /** Is added to. */
  readonly steps: Step[];
}

/**
 * Asks the URL that the challenge names; where there is none, that for the path of the server; where that is missing too,
 * that of the root. The root is not asked where the challenge named a URL: it may be about another resource.
 *
 * @returns undefined where the server has no such metadata
 * @throws OAuthError where the metadata is about another resource, or where it is not known whether there is any
 */
export async function findProtectedResource(options: Options): Promise<ProtectedResource | undefined> {
  const { serverUrl, challenge, fetch, signal, steps } = options;
  const { ofPath, root } = resourceMetadataUrls(serverUrl);
  const urlNamed = challenge?.resourceMetadata;
  const isUsable = urlNamed !== undefined && URL.canParse(urlNamed, serverUrl);
  const urls = isUsable ? [new URL(urlNamed, serverUrl).href, ...ofPath] : [...ofPath, root];
  for (const url of new Set(urls)) {
    const found = await fetchMetadata(url, fetch, signal);
    steps.push(found.step);
    if (found.document !== undefined) return readResource(found.document, url, options);
    if (found.isUnknown) throw unknownYet(found, serverUrl, steps);
  }
  if (!isUsable) return undefined;
  const sentence = `${named(serverUrl)} names ${named(urls[0] ?? "")} as its resource metadata (RFC 9728), where there is none.`;
  throw new OAuthError(`${sentence} The server must mend that; \`cardea doctor\` shows each step.`, {
    steps,
  });
}

const unknownYet = ({ step }: FetchedMetadata, serverUrl: string, steps: readonly Step[]): OAuthError =>
  new OAuthError(`${named(serverUrl)}: the sign-in cannot begin now. ${step.what}: ${step.reason}`, {
    steps,
    isTemporary: true,
  });

function readResource(document: JsonObject, url: string, { serverUrl, steps }: Options): ProtectedResource {
  const what = "check the resource of the metadata";
  const resource = stringAt(document, "resource");
  if (resource === undefined || !isResourceOf(resource, serverUrl)) {
    const about = resource === undefined ? "names no resource" : `is about ${quotedText(named(resource))}`;
    const reason = `The metadata ${about}, and must be about ${named(serverUrl)} (RFC 9728, 3.3).`;
    steps.push({ what, outcome: "failed", reason });
    throw new OAuthError(
      `${named(url)} must not be used. ${reason} If ${named(serverUrl)} is an alias, write the URL that the server calls its own into the config.`,
      { steps },
    );
  }
  steps.push({ what, outcome: "ok" });
  return {
    resource,
    authorizationServers: strings(document.authorization_servers),
    scopes: strings(document.scopes_supported),
  };
}

const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) && !isObject(value) ? value.filter((one) => typeof one === "string") : [];

/**
 * Whether metadata about `resource` may be used for `serverUrl`: it is the same URL but for a trailing slash, or a parent of
 * it at the same origin, as servers write it that protect everything below.
 */
function isResourceOf(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource)) return false;
  const named = new URL(resource);
  const server = new URL(serverUrl);
  if (named.origin !== server.origin || named.username !== "" || named.hash !== "") return false;
  if (named.search !== "" && named.search !== server.search) return false;
  const path = withSlash(named.pathname);
  return withSlash(server.pathname).startsWith(path);
}

const withSlash = (path: string): string => (path.endsWith("/") ? path : `${path}/`);
