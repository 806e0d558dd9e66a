/**
 * Renews the tokens of a sign-in without losing a refresh token. Under the lock of the record: read again, write the
 * intent, send, write the tokens, and only then do anything else.
 */

import type { Credential, TokenSet, Vault } from "../vault/types.js";
import { VaultError } from "../vault/vault-error.js";
import type { Obtained, TokenEndpoint } from "./token-endpoint.js";
import type { RefreshOutcome } from "./token-events.js";
import type { TokenOutcome } from "./types.js";

/** The credentials, and the tokens that are no longer usable. */
export interface RenewalRequest {
  readonly server: string;
  readonly principal: string;
  /** The access token that is due or was rejected; a valid one that differs from it is used. */
  readonly replaces: string | undefined;
  /** Scopes of a challenge that can be obtained without a person. */
  readonly scopes?: readonly string[];
  /** Tokens that an earlier renewal could not write. */
  readonly unsaved?: Unsaved;
}

/** Tokens in memory only, and the refresh token that they replace. */
export interface Unsaved {
  readonly credential: Credential;
  readonly spent: string | undefined;
  /** Whether there was a record when they came: without one now, the principal has signed out. */
  readonly hadRecord: boolean;
}

/** The outcome of a renewal. `credential` is the newest record; undefined if there is none. */
export type Renewal =
  | {
      readonly kind: "usable";
      readonly outcome: "refreshed" | "adopted" | "not_kept";
      readonly credential: Credential;
      readonly unsaved?: Unsaved;
    }
  /** A person must sign in. */
  | {
      readonly kind: "sign_in_required";
      readonly outcome?: "invalid_grant";
      readonly credential: Credential | undefined;
      readonly reason: string;
    }
  /** Nothing was lost and a later attempt may succeed; `isFinal`: only after a change by the operator. */
  | {
      readonly kind: "failed";
      readonly outcome: Exclude<RefreshOutcome, "refreshed" | "adopted" | "not_kept">;
      readonly credential: Credential | undefined;
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly isFinal: boolean;
    };

/** Dependencies of a renewal. */
export interface RenewalTools {
  readonly vault: Vault;
  readonly endpoint: TokenEndpoint;
  /** ms since 1970. */
  readonly now: () => number;
  /** A signal that aborts after `ms`. */
  readonly deadline: (ms: number) => AbortSignal;
}

/** Without the generation: the refresh token tells whether the record changed. */
const UNKNOWN_BASE = -1;
/** Timeout of one request, whether or not its caller still waits. */
const REQUEST_MS = 30_000;

/** @throws VaultError if the record cannot be read or locked, or the intent cannot be written: then nothing was sent */
export function renew(request: RenewalRequest, tools: RenewalTools): Promise<Renewal> {
  return tools.vault.locked(request.server, request.principal, () =>
    new RenewalUnderLock(request, tools).run(),
  );
}

class RenewalUnderLock {
  constructor(
    private readonly request: RenewalRequest,
    private readonly tools: RenewalTools,
  ) {}

  async run(): Promise<Renewal> {
    const { unsaved, replaces } = this.request;
    let kept = this.#owned(await this.#read());
    if (unsaved !== undefined) {
      const saved = await this.#persist(UNKNOWN_BASE, unsaved);
      if (saved.kind !== "usable" || saved.outcome === "not_kept") return saved;
      kept = saved.credential;
    }
    const tokens = kept?.tokens;
    const isUsed = tokens !== undefined && tokens.accessToken !== replaces && !this.#hasEnded(tokens);
    if (kept !== undefined && isUsed && this.request.scopes === undefined) {
      return { kind: "usable", outcome: "adopted", credential: kept };
    }
    if (this.tools.endpoint.obtain !== undefined) return this.#obtain(kept);
    const spent = tokens?.refreshToken;
    if (kept === undefined || spent === undefined) {
      const reason = tokens === undefined ? "the principal is not signed in" : "there is no refresh token";
      return { kind: "sign_in_required", credential: kept, reason };
    }
    return this.#refresh(kept, spent);
  }

  async #refresh(kept: Credential, spent: string): Promise<Renewal> {
    const { vault, now } = this.tools;
    let begun: Credential = { ...kept, generation: kept.generation + 1, refreshBegunAt: now() };
    // On a full disk this throws, and no refresh token is spent.
    await vault.write(begun);
    // A crash or a lost response left the intent: this request is its only retry.
    let isAmbiguous = kept.refreshBegunAt !== undefined;
    let outcome = await this.#send(begun);
    if (outcome.kind === "ambiguous" && !isAmbiguous) {
      isAmbiguous = true;
      outcome = await this.#send(begun);
    }
    if (outcome.kind === "invalid_client" && kept.client.source === "dynamic") {
      const client = await this.tools.endpoint.registerAgain(begun, this.tools.deadline(REQUEST_MS));
      if (client !== undefined) {
        begun = { ...begun, generation: begun.generation + 1, client };
        await vault.write(begun);
        outcome = await this.#send(begun);
      }
    }
    switch (outcome.kind) {
      case "tokens": {
        const credential = withoutIntent(begun, mergedTokens(begun.tokens, outcome.tokens));
        return this.#persist(begun.generation, { credential, spent, hadRecord: true });
      }
      case "invalid_grant":
        return this.#signOut(begun, outcome.description);
      case "ambiguous":
      case "invalid_client":
      case "refused":
      case "unavailable":
        // It is unknown whether the token is spent: the intent stays, and the next attempt sends the same token.
        if (outcome.kind === "ambiguous" || isAmbiguous) return failure(outcome, begun, this.tools.endpoint);
        return failure(outcome, await this.#clearIntent(begun), this.tools.endpoint);
    }
  }

  #send(credential: Credential): Promise<TokenOutcome> {
    return this.tools.endpoint.refresh(credential, this.tools.deadline(REQUEST_MS));
  }

  async #obtain(kept: Credential | undefined): Promise<Renewal> {
    const { endpoint, deadline } = this.tools;
    const scopes = this.request.scopes ?? [];
    const { principal } = this.request;
    const request = { principal, before: kept, scopes };
    const outcome: Obtained = (await endpoint.obtain?.(request, deadline(REQUEST_MS))) ?? NOT_POSSIBLE;
    if (outcome.kind === "tokens") {
      const { tokens, signIn } = outcome;
      const credential: Credential = { ...signIn, generation: 0, tokens };
      const spent = kept?.tokens?.refreshToken;
      return this.#persist(kept?.generation, { credential, spent, hadRecord: kept !== undefined });
    }
    if (outcome.kind !== "invalid_grant" || kept?.grant === "client_credentials") {
      return failure(outcome, kept, endpoint);
    }
    const reason = outcome.description ?? "the login that the token comes from has ended";
    return { kind: "sign_in_required", outcome: "invalid_grant", credential: kept, reason };
  }

  /**
   * Writes the tokens first, unless another process has written newer ones.
   *
   * @param base the generation that they were obtained with; undefined if there was no record
   */
  async #persist(base: number | undefined, { credential, spent, hadRecord }: Unsaved): Promise<Renewal> {
    let written = credential;
    try {
      const newest = await this.#read();
      if (newest === undefined && hadRecord) {
        return { kind: "sign_in_required", credential: undefined, reason: "the principal has signed out" };
      }
      const isChanged = newest?.generation !== base && newest?.tokens?.refreshToken !== spent;
      if (newest !== undefined && isChanged) return fromOther(newest);
      written = { ...credential, generation: (newest?.generation ?? 0) + 1 };
      await this.tools.vault.write(written);
      return { kind: "usable", outcome: "refreshed", credential: written };
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      const unsaved = { credential: written, spent, hadRecord };
      return { kind: "usable", outcome: "not_kept", credential: written, unsaved };
    }
  }

  /** The refresh token is invalid. A newer one from another process is used; otherwise client and scopes are kept. */
  async #signOut(begun: Credential, description: string | undefined): Promise<Renewal> {
    const newest = await this.#read();
    if (newest !== undefined && newest.generation !== begun.generation) return fromOther(newest);
    const reason = `the refresh token is no longer accepted${description === undefined ? "" : ` (${description})`}`;
    if (newest === undefined) return { kind: "sign_in_required", credential: undefined, reason };
    const { tokens: _, ...rest } = withoutIntent(begun, undefined);
    const signedOut: Credential = { ...rest, generation: begun.generation + 1 };
    await this.tools.vault.write(signedOut);
    return { kind: "sign_in_required", outcome: "invalid_grant", credential: signedOut, reason };
  }

  /**
   * The request was not processed, so the next one is not a retry. If the disk rejects this write, it counts as one.
   */
  async #clearIntent(begun: Credential): Promise<Credential> {
    const cleared = { ...withoutIntent(begun, begun.tokens), generation: begun.generation + 1 };
    try {
      await this.tools.vault.write(cleared);
      return cleared;
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      return begun;
    }
  }

  /** Tokens for another server, or of another issuer than that of the config, are neither used nor renewed. */
  #owned(kept: Credential | undefined): Credential | undefined {
    if (kept === undefined || (this.tools.endpoint.accepts?.(kept) ?? true)) return kept;
    return withoutIntent(kept, undefined);
  }

  #read(): Promise<Credential | undefined> {
    return this.tools.vault.read(this.request.server, this.request.principal);
  }

  #hasEnded({ expiresAt }: TokenSet): boolean {
    return expiresAt !== undefined && expiresAt <= this.tools.now();
  }
}

const NOT_POSSIBLE = { kind: "refused", error: "no grant without a person is configured" } as const;

function withoutIntent(credential: Credential, tokens: TokenSet | undefined): Credential {
  const { refreshBegunAt: _, tokens: __, ...rest } = credential;
  return tokens === undefined ? rest : { ...rest, tokens };
}

/** A record that another process has written since. */
const fromOther = (newest: Credential): Renewal =>
  newest.tokens === undefined
    ? { kind: "sign_in_required", credential: newest, reason: "another process found the sign-in ended" }
    : { kind: "usable", outcome: "adopted", credential: newest };

/** Members that the response omits keep their values (RFC 6749, 6). */
function mergedTokens(before: TokenSet | undefined, next: TokenSet): TokenSet {
  const { refreshToken = before?.refreshToken, idToken = before?.idToken, scope = before?.scope } = next;
  return {
    ...next,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(idToken !== undefined && { idToken }),
    ...(scope !== undefined && { scope }),
  };
}

type Failed = Exclude<TokenOutcome, { readonly kind: "tokens" }>;

function failure(
  outcome: Failed,
  credential: Credential | undefined,
  { proof = "clientId and clientSecret" }: Pick<TokenEndpoint, "proof">,
): Renewal {
  const shared = { kind: "failed", credential } as const;
  switch (outcome.kind) {
    case "unavailable": {
      const { reason, retryAfterMs } = outcome;
      const later = retryAfterMs === undefined ? {} : { retryAfterMs };
      return { ...shared, outcome: "unavailable", reason, isFinal: false, ...later };
    }
    case "ambiguous":
      return { ...shared, outcome: "ambiguous", reason: outcome.reason, isFinal: false };
    case "refused": {
      const reason =
        outcome.description === undefined ? outcome.error : `${outcome.error}: ${outcome.description}`;
      return { ...shared, outcome: "refused", reason, isFinal: true };
    }
    case "invalid_client": {
      const client = credential === undefined ? "the client" : `client ${credential.client.clientId}`;
      const issuer = credential === undefined ? "" : ` at ${credential.issuer}`;
      const source = credential?.client.source ?? "config";
      const advice = {
        config: `correct ${proof} of its auth in the config`,
        metadata_document: "the issuer must be able to fetch the document of that clientId",
        dynamic: "sign out and sign in again",
      }[source];
      const reason = `${client} is not accepted${issuer}: ${advice}`;
      return { ...shared, outcome: "invalid_client", reason, isFinal: true };
    }
    case "invalid_grant":
      return {
        ...shared,
        outcome: "invalid_grant",
        reason: outcome.description ?? "invalid_grant",
        isFinal: true,
      };
  }
}
