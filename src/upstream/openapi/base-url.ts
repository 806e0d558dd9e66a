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
  /** True where requests carry headers from the config, such as credentials. */
  readonly hasHeaders: boolean;
}

/** An absolute `http:` URL. @throws DocumentError when the document names none that may be used */
export function baseUrlOf(document: JsonObject, options: BaseUrlOptions): string {
  const { baseUrl, documentUrl, hasHeaders } = options;
  if (baseUrl !== undefined) return baseUrl;
  const url = firstServer(document, documentUrl);
  const isFile = documentUrl.startsWith("file:");
  if (url === undefined)
    throw new DocumentError('has a document that names no server; write "baseUrl" in the config');
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new DocumentError(
      'has a document whose first server is no complete http: address; write "baseUrl" in the config',
    );
  if (!isFile) checkOtherHost(url, new URL(documentUrl), hasHeaders);
  return url.href;
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

/** A document that was fetched may not send credentials, or calls into the own network, to a host of its choice. */
function checkOtherHost(url: URL, document: URL, hasHeaders: boolean): void {
  const isSameHost =
    url.hostname === document.hostname || (isLocal(url.hostname) && isLocal(document.hostname));
  const isDowngrade = document.protocol === "https:" && url.protocol === "http:";
  if (isSameHost && !isDowngrade) return;
  if (!isDowngrade && !hasHeaders && !isPrivate(url.hostname)) return;
  throw new DocumentError(
    `has a document at ${document.host} that puts the API at ${url.origin}; if that is right, write "baseUrl": ${writeJson(url.href)} in the config`,
  );
}

const isLocal = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** Addresses, which public APIs do not have, and names without a dot or of the own network. */
const isPrivate = (hostname: string): boolean =>
  /^\[|^[\d.]+$/.test(hostname) ||
  !hostname.includes(".") ||
  /\.(local|internal|localhost|lan|home|arpa)\.?$/.test(hostname);
