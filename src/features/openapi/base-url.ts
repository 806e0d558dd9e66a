/** Where is the API of a document? At the base URL of the config, else at the document's first server. */
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { DocumentError } from "./document-files.js";

/** What decides the base URL. */
export interface BaseUrlOptions {
  /** From the config. */
  readonly baseUrl?: string | undefined;
  /** The document's own URL, `file:` or `http:`. */
  readonly documentUrl: string;
  /** True where requests carry headers from the config, or tokens of a sign-in. */
  readonly hasCredentials: boolean;
}

/** Where the API is. */
export interface ApiBase {
  /** An absolute `http:` URL. */
  readonly url: string;
  /** True where a fetched document names another origin than its own: it may not lead into the own network. */
  readonly mustBePublic: boolean;
}

/** @throws DocumentError when the document names no base URL that may be used */
export function baseUrlOf(document: JsonObject, options: BaseUrlOptions): ApiBase {
  const { baseUrl, documentUrl, hasCredentials } = options;
  if (baseUrl !== undefined) return { url: baseUrl, mustBePublic: false };
  const url = firstServer(document, documentUrl);
  if (url === undefined)
    throw new DocumentError('has a document that names no server; write "baseUrl" in the config');
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new DocumentError(
      'has a document whose first server is no complete http: address; write "baseUrl" in the config',
    );
  const isFile = documentUrl.startsWith("file:");
  const mustBePublic = !isFile && url.origin !== new URL(documentUrl).origin;
  // The config has credentials for the origins that it names, and for no other.
  if (hasCredentials && (isFile || mustBePublic))
    throw elsewhere(documentUrl, url, "the config has credentials");
  if (mustBePublic) checkPublic(url, documentUrl);
  return { url: url.href, mustBePublic };
}

/** The URL of the first server, with the defaults of its variables; relative to the document. */
export function serverUrl(server: unknown, documentUrl: string): URL | undefined {
  if (!isObject(server)) return undefined;
  const variables = objectAt(server, "variables");
  const text = (stringAt(server, "url") ?? "/").replace(
    /\{([^}]*)\}/g,
    (whole, name: string) => stringAt(objectAt(variables, name), "default") ?? whole,
  );
  return URL.canParse(text, documentUrl) ? new URL(text, documentUrl) : undefined;
}

function firstServer(document: JsonObject, documentUrl: string): URL | undefined {
  const { servers } = document;
  // Without servers it is `/` (3.1.1, "OpenAPI Object").
  const first: unknown = Array.isArray(servers) && servers.length > 0 ? servers[0] : { url: "/" };
  return serverUrl(first, documentUrl);
}

/** What can be refused without a lookup; the addresses of the name are checked when a connection is opened. */
function checkPublic(url: URL, documentUrl: string): void {
  if (documentUrl.startsWith("https:") && url.protocol === "http:")
    throw elsewhere(documentUrl, url, "that is not encrypted");
  if (url.username !== "" || url.password !== "")
    throw elsewhere(documentUrl, url, "it has credentials in it");
  if (isPrivate(url.hostname)) throw elsewhere(documentUrl, url, "that is no public name");
}

function elsewhere(documentUrl: string, url: URL, why: string): DocumentError {
  const from = documentUrl.startsWith("file:") ? "" : ` at ${new URL(documentUrl).host}`;
  const base = new URL(url);
  base.username = "";
  base.password = "";
  return new DocumentError(
    `has a document${from} that puts the API at ${url.origin}, and ${why}; if that is right, write "baseUrl": ${writeJson(base.href)} in the config`,
  );
}

/** Addresses, which public APIs do not have, and names without a dot or of the own network. */
const isPrivate = (hostname: string): boolean =>
  /^\[|^[\d.]+$/.test(hostname) ||
  !hostname.replace(/\.$/, "").includes(".") ||
  /\.(local|internal|localhost|lan|home|corp|intranet|private|svc|arpa)\.?$/.test(hostname);
