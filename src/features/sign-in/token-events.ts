/** Logs and counts renewals, with a fingerprint instead of the token. */

import { createHmac, randomBytes } from "node:crypto";
import type { Logger } from "../../core/logger.js";
import { idOfKey } from "../../core/principal.js";
import type { Credential } from "../vault/types.js";

/** The outcome of a renewal. */
export type RefreshOutcome =
  | "refreshed"
  /** Another process had already refreshed it. */
  | "adopted"
  | "invalid_grant"
  | "invalid_client"
  | "refused"
  | "unavailable"
  | "ambiguous"
  /** The disk rejected the new token; it is used, and written later. */
  | "not_kept";

/** The counter of refreshes; `telemetry` has one. */
export interface RefreshCounter {
  tokenRefreshed(server: string, outcome: RefreshOutcome): void;
}

/** The principal and server of the token. */
export interface TokenOwner {
  readonly server: string;
  readonly principal: string;
}

/** Writes the log lines and counts. */
export class TokenEvents {
  /** Fingerprints of two processes are not comparable, and reveal nothing about the token. */
  readonly #key = randomBytes(32);

  constructor(
    private readonly log: Logger,
    private readonly counter: RefreshCounter,
  ) {}

  /** The tokens of `after` are now in use, in place of those of `before`. */
  refreshed(
    owner: TokenOwner,
    outcome: "refreshed" | "adopted",
    after: Credential,
    before: Credential | undefined,
  ): void {
    this.counter.tokenRefreshed(owner.server, outcome);
    const isObtained = ["client_credentials", "jwt_bearer"].includes(after.grant);
    if (outcome === "refreshed" && isObtained && before?.issuer !== after.issuer) {
      this.log.warn(
        { ...this.#fields(owner, after), client: after.client.clientId },
        `${owner.server}: the gateway signs in at ${after.issuer}, and sends its credentials to no other issuer from now on; auth.issuer in the config names it for good`,
      );
    }
    const fields = { ...this.#fields(owner, after), expiresAt: after.tokens?.expiresAt };
    if (outcome === "refreshed") this.log.info(fields, `the token of ${owner.server} was refreshed`);
    else this.log.debug(fields, `the token of ${owner.server} was refreshed by another process`);
  }

  /** The renewal failed; `reason` is the end of a sentence, `bug` an error of the gateway itself. */
  failed(
    owner: TokenOwner,
    outcome: Exclude<RefreshOutcome, "refreshed" | "adopted">,
    credential: Credential | undefined,
    reason: string,
    bug?: unknown,
  ): void {
    this.counter.tokenRefreshed(owner.server, outcome);
    this.log.warn(
      { ...this.#fields(owner, credential), outcome, ...(bug !== undefined && { error: bug }) },
      `the token of ${owner.server} was not refreshed: ${reason}`,
    );
  }

  #fields(owner: TokenOwner, credential: Credential | undefined) {
    const token = credential?.tokens?.accessToken;
    return {
      server: owner.server,
      principal: idOfKey(owner.principal),
      ...(credential !== undefined && {
        issuer: credential.issuer,
        scopes: credential.tokens?.scope ?? credential.askedScopes.join(" "),
      }),
      ...(token !== undefined && { fingerprint: this.#fingerprint(token) }),
    };
  }

  #fingerprint(token: string): string {
    return createHmac("sha256", this.#key).update(token).digest("hex").slice(0, 8);
  }
}
