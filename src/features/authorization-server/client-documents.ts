/** Client ID metadata documents (CIMD): hosts whose `client_id` is a URL. */
import { LRUCache } from "lru-cache";
import type { RateLimit } from "../../http/rate-limit.js";
import { isObject } from "../../wire/json.js";
import { checkMetadata, readName } from "./client-metadata.js";
import { OAuthError } from "./oauth-error.js";
import { type AllowedRedirects, isCanonical, readRedirectUris } from "./redirect-uris.js";
import type { HostClient, LeftOut, Now } from "./types.js";

/** Fetches a small JSON document from a public address. @throws Error with the reason */
export type FetchDocument = (url: string) => Promise<unknown>;

interface ClientDocumentsOptions {
  readonly fetch: FetchDocument;
  readonly allowed: AllowedRedirects;
  readonly limit: RateLimit;
  readonly now: Now;
  /** Receives why redirect URIs of a host are left out. */
  readonly onLeftOut: LeftOut;
}

/** Cache lifetime (ms) of a document. */
const FRESH_MS = 5 * 60_000;
/** Cache lifetime (ms) of a rejected document. */
const REFUSED_MS = 30_000;
const MAX_DOCUMENTS = 200;
const MAX_URL_LENGTH = 500;
const MAX_TRUSTED = 1_000;

/** Whether a `client_id` is the URL of a document. */
export const isDocumentUrl = (id: string): boolean => id.startsWith("https://");

/** The documents of hosts, fetched on demand. */
export class ClientDocuments {
  readonly #options: ClientDocumentsOptions;
  readonly #known = new LRUCache<string, { readonly until: number; readonly client: Promise<HostClient> }>({
    max: MAX_DOCUMENTS,
  });

  /** The URLs of those that persons have consented to. */
  readonly #trusted = new LRUCache<string, true>({ max: MAX_TRUSTED });

  constructor(options: ClientDocumentsOptions) {
    this.#options = options;
  }

  /** A person has consented to this client: its document is fetched however many others are asked for. */
  trust(id: string): void {
    this.#trusted.set(id, true);
  }

  /** The client in the document at `id`; `network` is that of the request. @throws OAuthError `invalid_client` */
  async find(id: string, network: string): Promise<HostClient> {
    const { now, limit } = this.#options;
    const known = this.#known.get(id);
    if (known !== undefined && known.until > now()) return known.client;
    checkUrl(id);
    // The share of a website is its own: made-up documents of one do not keep the others out.
    const retryAfterS = this.#trusted.has(id) ? undefined : limit.take(`${network} ${new URL(id).host}`);
    if (retryAfterS !== undefined) {
      throw new OAuthError("temporarily_unavailable", "too many clients from one address; try again later", {
        status: 429,
        retryAfterS,
      });
    }
    const client = this.#fetch(id);
    this.#known.set(id, { until: now() + FRESH_MS, client });
    client.catch(() => this.#known.set(id, { until: now() + REFUSED_MS, client }));
    return client;
  }

  async #fetch(id: string): Promise<HostClient> {
    const { fetch, allowed, onLeftOut } = this.#options;
    const document = await fetch(id).catch((cause: unknown) => {
      throw refused("the client metadata document at client_id cannot be fetched", cause);
    });
    if (!isObject(document)) throw refused("the client metadata document at client_id is not a JSON object");
    if (document.client_id !== id)
      throw refused("client_id in the client metadata document is not its own URL");
    const method: unknown = document.token_endpoint_auth_method ?? "none";
    if (method !== "none")
      throw refused(
        "the client metadata document requires client authentication; this server supports public clients only (none)",
      );
    try {
      const { usable: redirectUris, leftOut } = readRedirectUris(document.redirect_uris, allowed);
      checkMetadata(document);
      const name = readName(document, redirectUris);
      if (leftOut.length > 0) onLeftOut(name, leftOut);
      return { id, name, redirectUris, kind: "document", isExpired: false };
    } catch (error) {
      throw error instanceof OAuthError
        ? refused(`the client metadata document: ${error.message}`, error)
        : error;
    }
  }
}

const refused = (message: string, cause?: unknown): OAuthError =>
  new OAuthError("invalid_client", message, { status: 401, cause });

/** An https URL with a path, without fragment, user name and dot segments. @throws OAuthError `invalid_client` */
function checkUrl(id: string): void {
  if (id.length > MAX_URL_LENGTH || !URL.canParse(id)) throw refused("client_id is no usable URL");
  const { href, pathname, hash, username, password } = new URL(id);
  const isPlain =
    href === id && isCanonical(id) && pathname !== "/" && hash === "" && username === "" && password === "";
  if (!isPlain)
    throw refused("client_id must be a plain https URL with a path, without a fragment or user name");
}
