/** The token of one principal at one server: immediately if it is valid, otherwise after one shared renewal. */
import type { RejectedRequest, RequestCredentials } from "../../core/credentials.js";
import { GatewayError, signInRequired } from "../../core/errors.js";
import { asOfKey } from "../../core/sign-in-command.js";
import { type StopSignal, unlessAborted } from "../../core/stop.js";
import type { Credential, TokenSet } from "../vault/types.js";
import { VaultError } from "../vault/vault-error.js";
import { CurrentToken } from "./current-token.js";
import type { Renewal, RenewalTools, Unsaved } from "./renew.js";
import { RenewalPause } from "./renewal-pause.js";
import { type Renewals, renewSafely } from "./renewals.js";
import type { TokenEvents } from "./token-events.js";

/** The principal and server, and the dependencies of a renewal. */
export interface TokenSourceOptions extends RenewalTools {
  readonly server: string;
  readonly principal: string;
  /** The renewal process; without it renewals run in this process. */
  readonly renewals?: Pick<Renewals, "run">;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly events: TokenEvents;
  /** The principal signed in or out; `isWider`: signed in again for more scopes. */
  readonly onSignedIn: (isSignedIn: boolean, isWider: boolean) => void;
  /** Called with those that are in use from now on; undefined: none are. */
  readonly onTokens: (tokens: TokenSet | undefined) => void;
}

/**
 * A token that the server rejected, without a successor, is tried again after this time (ms): the server may have
 * erred.
 */
const REFUSED_MS = 60_000;

/** The credentials of one principal at one server. No timers: a token is renewed when it is used. */
export class TokenSource implements RequestCredentials {
  readonly #token: CurrentToken;
  /** The running renewal, shared by all waiters. */
  #flight: Promise<void> | undefined;
  /** The running read of the vault. */
  #loading: Promise<void> | undefined;
  #unsaved: Unsaved | undefined;
  /** As reported last. */
  #wasUsable = false;
  readonly #pause: RenewalPause;
  #challengedScopes: readonly string[] = [];

  constructor(private readonly options: TokenSourceOptions) {
    this.#token = new CurrentToken(options.random);
    this.#pause = new RenewalPause(options.now, options.random);
  }

  /** Starts a renewal in the background if one is due and the token is still valid. */
  get header(): string | undefined {
    const now = this.options.now();
    if (this.#token.isDue(now)) this.#renewAhead(now);
    return this.#token.usable(now);
  }

  async obtain(signal: StopSignal): Promise<string> {
    const header = this.header;
    if (header !== undefined) return header;
    return unlessAborted(this.#obtained(), signal, () => this.#cancelled());
  }

  async onRejected(rejected: RejectedRequest, signal: StopSignal): Promise<string | GatewayError> {
    try {
      const header = await unlessAborted(this.#successorOf(rejected), signal, () => this.#cancelled());
      return header ?? this.#signInRequired();
    } catch (error) {
      return this.#asGatewayError(error);
    }
  }

  /** The scopes of challenges, requested at the next sign-in with all earlier ones. */
  get lackedScopes(): readonly string[] {
    return this.#challengedScopes;
  }

  get #wantedScopes(): readonly string[] {
    return [...new Set([...(this.#token.credential?.askedScopes ?? []), ...this.#challengedScopes])];
  }

  /** Whether the token ends within `ms` and only a person can replace it. */
  isExpiring(ms: number): boolean {
    return this.options.endpoint.obtain === undefined && this.#token.endsBy(this.options.now() + ms);
  }

  /** Whether the record was read. */
  get isLoaded(): boolean {
    return this.#token.adopted > 0;
  }

  get hasSignedIn(): boolean {
    return this.#token.credential !== undefined;
  }

  /** Whether the principal is signed in, as of this process's last read. */
  get isSignedIn(): boolean {
    return this.#token.isSignedIn;
  }

  /** Adopts a record of another process, unless this one has a newer one; undefined if it was deleted. */
  adoptNewer(credential: Credential | undefined): void {
    const isNewer = (credential?.generation ?? 0) > (this.#token.credential?.generation ?? 0);
    if (credential === undefined || isNewer) this.#adopt(credential);
  }

  #adopt(record: Credential | undefined): void {
    const credential = this.#owned(record);
    // Tokens that only this process has are newer than those on disk.
    if (this.#unsaved !== undefined) return;
    const { isSignedIn } = this;
    const asked = this.#token.credential?.askedScopes ?? [];
    const isFirst = !this.isLoaded;
    this.options.onTokens(credential?.tokens);
    if (this.#token.adopt(credential, this.options.now())) this.#pause.end();
    // A sign-in for more scopes counts too: a call may wait for it.
    const isWider = isSignedIn && (credential?.askedScopes ?? []).some((scope) => !asked.includes(scope));
    this.#report(this.isSignedIn && !this.#token.isRefused(this.options.now()), isFirst, isWider);
  }

  /** Notifies of a change: the tokens came, went, or are rejected by the server. */
  #report(isUsable: boolean, isSilent: boolean, isWider: boolean): void {
    const isChanged = isUsable !== this.#wasUsable;
    this.#wasUsable = isUsable;
    if (!isSilent && (isWider || isChanged)) this.options.onSignedIn(isUsable, isWider);
  }

  /** Tokens for another server that had this name, or of another issuer than that of the config, are not sent. */
  #owned(record: Credential | undefined): Credential | undefined {
    if (record === undefined || (this.options.endpoint.accepts?.(record) ?? true)) return record;
    const { tokens: _, ...rest } = record;
    return rest;
  }

  /** The header for a retry of the request; undefined if there is none. */
  async #successorOf(rejected: RejectedRequest): Promise<string | undefined> {
    const { status, sentHeader, attempts } = rejected;
    if (status === 403) return this.#widened(rejected);
    const newest = this.header;
    if (attempts > 1) {
      if (newest !== undefined && newest === sentHeader) {
        // A token that was just obtained is rejected: new ones for each request would be rejected too.
        this.#refuse(newest);
        this.#pause.begin(REFUSED_MS / 2);
        this.#pause.explain(this.#signInRequired());
      }
      return undefined;
    }
    if (newest !== undefined && newest !== sentHeader) return newest;
    if (sentHeader === undefined) return this.#obtained();
    return this.#repeated(sentHeader, async () => {
      await this.#flight;
      if (this.#usable(sentHeader) === undefined) await this.#load();
      if (this.#usable(sentHeader) === undefined) await this.#replace(sentHeader);
    });
  }

  #obtained(): Promise<string> {
    return this.#repeated(undefined, () => this.#ready());
  }

  /**
   * The header, if it differs from `not`, after `step`. The step is repeated if the token expired during the renewal
   * (the machine was suspended), or if the renewal had started for another token.
   */
  async #repeated(not: string | undefined, step: () => Promise<void>): Promise<string> {
    for (let at = 0; at < MAX_STEPS; at += 1) {
      await step();
      const header = this.#usable(not);
      if (header !== undefined) return header;
    }
    const { server } = this.options;
    const message = `the token for ${server} ends before it can be used`;
    throw new GatewayError("upstream_unavailable", "upstream", message, { server, retryable: true });
  }

  async #replace(sentHeader: string): Promise<void> {
    try {
      await this.#renewed(tokenOf(sentHeader));
    } catch (error) {
      if (error instanceof GatewayError && error.code === "sign_in_required") this.#refuse(sentHeader);
      throw error;
    }
  }

  /** Requests more scopes if no person is needed; otherwise they are kept for the next sign-in. */
  async #widened({ challenge, sentHeader, attempts }: RejectedRequest): Promise<string | undefined> {
    const { endpoint } = this.options;
    const known = this.#wantedScopes;
    const challenged = endpoint.challengedScopes(challenge);
    this.#challengedScopes = [...new Set([...this.#challengedScopes, ...challenged])].slice(0, MAX_SCOPES);
    const isWider = challenged.some((scope) => !known.includes(scope));
    if (endpoint.obtain === undefined || attempts > 1 || !isWider) return undefined;
    await this.#flight;
    await this.#renewed(tokenOf(sentHeader), this.#wantedScopes);
    return this.#usable(sentHeader);
  }

  /** Resolves when the newest token is in use, after a renewal if needed. @throws GatewayError */
  async #ready(): Promise<void> {
    await this.#flight;
    if (this.#usable() !== undefined) return;
    await this.#load();
    if (this.#usable() !== undefined) return;
    const { endpoint, now } = this.options;
    if (endpoint.obtain === undefined && this.#token.needsPerson(now())) throw this.#signInRequired();
    await this.#renewed(this.#token.credential?.tokens?.accessToken);
  }

  #usable = (not?: string): string | undefined => this.#token.usable(this.options.now(), not);

  /** Reads the disk: another process may have signed in or refreshed. */
  #load(): Promise<void> {
    this.#loading ??= this.#readVault().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #readVault(): Promise<void> {
    const { vault, server, principal } = this.options;
    const { adopted } = this.#token;
    const kept = await vault.read(server, principal).catch((error: unknown) => {
      throw this.#asGatewayError(error);
    });
    const isNewer = (kept?.generation ?? 0) > (this.#token.credential?.generation ?? 0);
    if (adopted === this.#token.adopted || isNewer) this.#adopt(kept);
  }

  #renewAhead(now: number): void {
    if (this.#flight !== undefined || !this.#pause.isOver(now)) return;
    // Tokens that are not on disk yet are not due: they are written again.
    const due = this.#unsaved === undefined ? this.#token.credential?.tokens?.accessToken : undefined;
    // Its failure is logged; callers receive it only once the token has expired.
    this.#renewed(due).catch(() => {});
  }

  /** One renewal at a time; it continues after its callers gave up. @throws GatewayError */
  #renewed(replaces: string | undefined, scopes?: readonly string[]): Promise<void> {
    if (this.#flight !== undefined) return this.#flight;
    const { error } = this.#pause;
    if (error !== undefined) return Promise.reject(error);
    const flight = this.#renew(replaces, scopes).finally(() => {
      this.#flight = undefined;
    });
    this.#flight = flight;
    return flight;
  }

  async #renew(replaces: string | undefined, scopes: readonly string[] | undefined): Promise<void> {
    const { server, principal } = this.options;
    const request = {
      server,
      principal,
      replaces,
      ...(scopes !== undefined && { scopes }),
      ...(this.#unsaved !== undefined && { unsaved: this.#unsaved }),
    };
    const before = this.#token.credential;
    let renewal: Renewal;
    try {
      renewal = await renewSafely(request, this.options, this.#token.credential);
    } catch (error) {
      const trouble = this.#asGatewayError(error);
      this.#pause.begin();
      this.#pause.explain(trouble);
      const bug = error instanceof GatewayError || error instanceof VaultError ? undefined : error;
      this.options.events.failed(this.options, "unavailable", this.#token.credential, trouble.message, bug);
      throw trouble;
    }
    this.#take(renewal, before);
  }

  /** @throws GatewayError if there is no usable token */
  #take(renewal: Renewal, before: Credential | undefined): void {
    const { events } = this.options;
    this.#unsaved = undefined;
    this.#adopt(renewal.credential);
    if (renewal.kind === "failed") throw this.#trouble(renewal);
    if (renewal.kind === "sign_in_required") {
      const { outcome, credential, reason } = renewal;
      if (outcome !== undefined) events.failed(this.options, outcome, credential, reason);
      throw this.#signInRequired();
    }
    const { outcome, credential } = renewal;
    if (outcome !== "not_kept") {
      events.refreshed(this.options, outcome, credential, before);
      return;
    }
    this.#unsaved = renewal.unsaved;
    // The next use writes it again, after the backoff.
    this.#token.makeDue();
    this.#pause.begin();
    events.failed(this.options, outcome, credential, "it is used, but cannot be written");
  }

  /** The error of a renewal that may succeed later. */
  #trouble(renewal: Renewal & { kind: "failed" }): GatewayError {
    const { outcome, reason, retryAfterMs, isFinal, credential } = renewal;
    const { server } = this.options;
    this.options.events.failed(this.options, outcome, credential, reason);
    const delay = this.#pause.begin(retryAfterMs);
    const message = `the token for ${server} cannot be renewed: ${reason}`;
    const options = isFinal ? { server } : { server, retryable: true, retryAfterMs: delay };
    return this.#pause.explain(new GatewayError("upstream_unavailable", "upstream", message, options));
  }

  /** The server rejects the newest token, and only a person can replace it. */
  #refuse(header: string): void {
    this.#token.refuse(header, this.options.now() + REFUSED_MS);
    if (this.#token.isRefused(this.options.now())) this.#report(false, false, false);
  }

  #signInRequired = (): GatewayError => signInRequired(this.options.server, asOfKey(this.options.principal));

  #cancelled(): GatewayError {
    const message = `the call was cancelled while the token for ${this.options.server} was renewed`;
    return new GatewayError("cancelled", "downstream", message);
  }

  #asGatewayError(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error;
    const { server } = this.options;
    const internal = `the credentials of ${server} cannot be used: internal error`;
    const message = error instanceof VaultError ? error.message : internal;
    const mayPass = error instanceof VaultError && error.fault === "store";
    const options = { server, cause: error, ...(mayPass && { retryable: true }) };
    return new GatewayError("upstream_unavailable", "gateway", message, options);
  }
}

/** Token renewals per request. */
const MAX_STEPS = 3;
/** More than a server has; a longer list from a hostile one is cut. */
const MAX_SCOPES = 100;

const tokenOf = (header: string | undefined): string | undefined => header?.replace(/^Bearer /, "");
