/** The well-known URLs of metadata documents, and how one is fetched (RFC 8414, RFC 9728). */
import { FetchError, type GuardedFetch, named } from "../../../outgoing/guarded-fetch.js";
import { isObject, type JsonObject } from "../../../wire/json.js";
import { parseJson } from "../../../wire/json-text.js";
import type { Step } from "../types.js";
import { reasonOf } from "./oauth-error.js";

/** The document at a URL, and how `doctor` shows the request. */
export interface FetchedMetadata {
  readonly step: Step;
  /** Undefined if there is none. */
  readonly document?: JsonObject;
  /** 5xx, 429 or no response: whether a document exists is unknown. */
  readonly isUnknown: boolean;
  /** The gateway refused to connect, or to follow a redirect. */
  readonly isRefused: boolean;
}

/** Fetches a metadata document. Never throws; HTML, 4xx and other JSON count as no document. */
export async function fetchMetadata(
  url: string,
  fetch: GuardedFetch,
  signal?: AbortSignal,
): Promise<FetchedMetadata> {
  const what = `GET ${named(url)}`;
  const failed = (reason: string, isUnknown = false, isRefused = false): FetchedMetadata => ({
    step: { what, outcome: "failed", reason },
    isUnknown,
    isRefused,
  });
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { signal });
    text = await response.text();
  } catch (error) {
    const reason = reasonOf(error).replace(`${named(url)}: `, "");
    const isRefused = error instanceof FetchError && error.kind === "blocked";
    return failed(`${reason}.`, !isRefused, isRefused);
  }
  const { status } = response;
  if (status >= 500 || status === 429 || status === 408) return failed(`It answered ${status}.`, true);
  if (status !== 200) return failed(`It answered ${status}: there is no metadata here.`);
  try {
    const document = parseJson(text);
    if (isObject(document))
      return { step: { what, outcome: "ok" }, document, isUnknown: false, isRefused: false };
  } catch {
    // Handled below: the text is not JSON.
  }
  const type = response.headers.get("content-type")?.split(";")[0] ?? "no content type";
  return failed(`It answered 200 with something other than a JSON object (${type}): not metadata.`);
}

/**
 * The URLs for a server, in request order: the one with its path; if the path ends in a slash, also the one without
 * (many servers publish only that); then the root.
 */
export function resourceMetadataUrls(serverUrl: string): {
  readonly ofPath: readonly string[];
  readonly root: string;
} {
  const { origin, pathname, search } = new URL(serverUrl);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const withoutSlash = pathname.replace(/\/$/, "");
  const paths = pathname === "/" ? [""] : [...new Set([pathname, withoutSlash])];
  return { ofPath: paths.map((path) => `${root}${path}${search}`), root };
}

/** The URLs for an issuer, in request order (2026-07-28: basic/authorization/authorization-server-discovery). */
export function issuerMetadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/**
 * Whether there are metadata of a protected resource at the URLs of the server (RFC 9728), or of an authorization server at
 * its origin, as servers of 2025-03-26 have them. Never throws.
 */
export async function hasOAuthMetadata(
  serverUrl: string,
  fetch: GuardedFetch,
  signal?: AbortSignal,
): Promise<boolean> {
  const { ofPath, root } = resourceMetadataUrls(serverUrl);
  const urls = new Set([...ofPath, root, ...issuerMetadataUrls(new URL(serverUrl).origin)]);
  for (const url of urls) {
    const { document } = await fetchMetadata(url, fetch, signal);
    // A website may answer any path with some JSON.
    if (document !== undefined && MEMBERS.some((name) => typeof document[name] === "string")) return true;
  }
  return false;
}

/** One of them is in all metadata. */
const MEMBERS = ["resource", "issuer", "authorization_endpoint"];
