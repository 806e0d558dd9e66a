/** What do operators learn of renewed tokens? Log lines and counters, with a fingerprint in place of the token. */
import { createHmac, randomBytes } from "node:crypto";
import type { Logger } from "../core/logger.js";
import type { Credential } from "./types.js";

/** What an attempt to obtain the next token ended in. */
export type RefreshOutcome =
  | "refreshed"
  /** Another process had refreshed it already. */
  | "adopted"
  | "invalid_grant"
  | "invalid_client"
  | "refused"
  | "unavailable"
  | "ambiguous"
  /** The disk refused the new token; it is used, and written again later. */
  | "not_kept";

/** The counter of refreshes; `telemetry` has one. */
export interface RefreshCounter {
  tokenRefreshed(server: string, outcome: RefreshOutcome): void;
}

/** Whose token it is about. */
export interface TokenOwner {
  readonly server: string;
  readonly principal: string;
}

/** Writes the log lines and counts. */
export class TokenEvents {
  /** Fingerprints of two processes cannot be compared, and tell nothing about the token. */
  readonly #key = randomBytes(32);

  constructor(
    private readonly log: Logger,
    private readonly counter: RefreshCounter,
  ) {}

  /** The tokens of `after` are in use now. */
  refreshed(owner: TokenOwner, outcome: "refreshed" | "adopted", after: Credential): void {
    this.counter.tokenRefreshed(owner.server, outcome);
    const fields = { ...this.#fields(owner, after), expiresAt: after.tokens?.expiresAt };
    if (outcome === "refreshed") this.log.info(fields, `the token of ${owner.server} was refreshed`);
    else this.log.debug(fields, `the token of ${owner.server} was refreshed by another process`);
  }

  /** There are no new tokens; `reason` is the rest of a sentence, `bug` an error that is one of the gateway. */
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
      principal: owner.principal,
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
