/** Finds the host of a `client_id`. */
import { type ClientDocuments, isDocumentUrl } from "./client-documents.js";
import { OAuthError } from "./oauth-error.js";
import type { AllowedRedirects } from "./redirect-uris.js";
import { readRegistration } from "./registration.js";
import { digestOf, type Sealing } from "./sealing.js";
import type { HostClient, Now } from "./types.js";

interface ClientsOptions {
  readonly documents: ClientDocuments;
  readonly sealing: () => Promise<Sealing>;
  readonly allowed: AllowedRedirects;
  readonly now: Now;
}

/** Looks up clients by `client_id`. */
export class Clients {
  readonly #options: ClientsOptions;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /**
   * The client with this id, which may have expired. `network` is that of the request.
   *
   * @throws OAuthError `invalid_client` if there is none
   */
  find(id: string, network: string): Promise<HostClient> {
    return isDocumentUrl(id) ? this.#options.documents.find(id, network) : this.registered(id);
  }

  /** A person has consented to the client of this key (`clientKeyOf`): what strangers do no longer limits it. */
  trust(key: string): void {
    if (isDocumentUrl(key)) this.#options.documents.trust(key);
  }

  /** The client that has registered itself under this id. @throws OAuthError `invalid_client` if there is none */
  async registered(id: string): Promise<HostClient> {
    const { sealing, allowed, now } = this.#options;
    const found = readRegistration(id, await sealing(), allowed, now);
    if (found !== undefined) return found;
    throw new OAuthError("invalid_client", "client_id is not known here: the host must register again", {
      status: 401,
    });
  }
}

/** The key of a client in grants and tokens: its URL, or the digest of its (long) registration. */
export const clientKeyOf = (id: string): string => (isDocumentUrl(id) ? id : digestOf(id));
