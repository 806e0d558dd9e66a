/** Protected resource metadata of an MCP server (RFC 9728). */
import { type GuardedFetch, named } from "../../../outgoing/guarded-fetch.js";
import { isObject, type JsonObject, stringAt } from "../../../wire/json.js";
import type { Step } from "../types.js";
import type { BearerChallenge } from "./challenge.js";
import { type FetchedMetadata, fetchMetadata, resourceMetadataUrls } from "./fetch-metadata.js";
import { OAuthError, quotedText } from "./oauth-error.js";
import { audienceOf, isSameResource, sentResource } from "./resource-identity.js";

/** The members that are used. */
export interface ProtectedResource {
  /** As written in the metadata, normalized. */
  readonly resource: string;
  /** Whether tokens for it are valid for more than the server, and the config does not say so. */
  readonly isWider?: true;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
}

interface Options {
  readonly serverUrl: string;
  readonly challenge: BearerChallenge | undefined;
  /** `auth.resource`: the resource that the metadata may be about instead. */
  readonly accepted?: string | undefined;
  readonly fetch: GuardedFetch;
  readonly signal?: AbortSignal | undefined;
  /** Steps are appended. */
  readonly steps: Step[];
}

/**
 * Requests the URL of the challenge; without one, the well-known URL for the server's path; if that is missing, the
 * root. The root is not requested if the challenge names a URL: it may describe another resource.
 *
 * @returns undefined if the server has no such metadata
 * @throws OAuthError if the metadata describes another resource, or its existence is unknown
 */
export async function findProtectedResource(options: Options): Promise<ProtectedResource | undefined> {
  const { serverUrl, challenge, fetch, signal, steps } = options;
  const { ofPath, root } = resourceMetadataUrls(serverUrl);
  const urlNamed = challenge?.resourceMetadata;
  const isUsable = urlNamed !== undefined && URL.canParse(urlNamed, serverUrl);
  const urls = isUsable ? [new URL(urlNamed, serverUrl).href, ...ofPath] : [...ofPath, root];
  /** The first address that the gateway does not connect to. */
  let refused: Step | undefined;
  for (const url of new Set(urls)) {
    const found = await fetchMetadata(url, fetch, signal);
    steps.push(found.step);
    if (found.document !== undefined) return readResource(found.document, url, options);
    if (found.isUnknown) throw unknownYet(found, serverUrl, steps);
    if (found.isRefused) refused ??= found.step;
  }
  if (!isUsable) return undefined;
  const sentence = `${named(serverUrl)} names ${named(urls[0] ?? "")} as its resource metadata (RFC 9728), `;
  if (refused !== undefined) {
    throw new OAuthError(
      `${sentence}and the gateway refused that address. ${refused.what}: ${refused.reason}`,
      {
        steps,
      },
    );
  }
  throw new OAuthError(
    `${sentence}but there is none. The server must fix that; \`cardea doctor\` shows each step.`,
    {
      steps,
    },
  );
}

const unknownYet = ({ step }: FetchedMetadata, serverUrl: string, steps: readonly Step[]): OAuthError =>
  new OAuthError(`${named(serverUrl)}: the sign-in cannot begin now. ${step.what}: ${step.reason}`, {
    steps,
    isTemporary: true,
  });

function readResource(
  document: JsonObject,
  url: string,
  { serverUrl, accepted, steps }: Options,
): ProtectedResource {
  const what = "check the resource of the metadata";
  const resource = stringAt(document, "resource");
  const audience = resource === undefined ? "other" : audienceOf(resource, serverUrl);
  const isAccepted = accepted !== undefined && isSameResource(resource ?? "", accepted);
  if (resource === undefined || (audience === "other" && !isAccepted)) {
    const about = resource === undefined ? "names no resource" : `is about ${quotedText(named(resource))}`;
    const reason = `The metadata ${about}, and must be about ${named(serverUrl)} (RFC 9728, 3.3).`;
    steps.push({ what, outcome: "failed", reason });
    throw new OAuthError(
      `${named(url)} must not be used. ${reason} If ${named(serverUrl)} is an alias, write the URL that the server calls its own into the config.`,
      { steps },
    );
  }
  const isWider = audience === "wider" && !isAccepted;
  const reason = `The metadata is about ${quotedText(named(resource))}: a token is valid for all of it, not only for ${named(serverUrl)}. RFC 9728, 3.3, wants the same URL; the person who signs in has to agree, or auth.resource names it.`;
  steps.push(isWider ? { what, outcome: "skipped", reason } : { what, outcome: "ok" });
  return {
    resource: sentResource(resource),
    ...(isWider && { isWider }),
    authorizationServers: strings(document.authorization_servers),
    scopes: strings(document.scopes_supported),
  };
}

const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) && !isObject(value) ? value.filter((one) => typeof one === "string") : [];
