/** Device authorization grant (RFC 8628): polls until the person has decided. */
import { randomBytes } from "node:crypto";
import { grantedScopes, noteEnd, refusalOf, storeAndNotify } from "./authorizations.js";
import { type DeviceAuthorization, pollDeviceToken, startDeviceAuthorization } from "./oauth/client.js";
import type { PreparedSignIn, SignInSubject } from "./pending-content.js";
import { pinIssuer } from "./pinned-issuer.js";
import { type SignInContext, serverNamed } from "./sign-in-context.js";
import { asRefusal, SignInRefusal } from "./sign-in-refusal.js";
import { endpointsOf, tokenContext } from "./sign-in-server.js";
import { credentialOf } from "./store-tokens.js";
import type { TokenOutcome } from "./types.js";

/** The URL and the code for the person. */
export interface DeviceSignIn {
  readonly login: string;
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete?: string;
}

/** Sleeps. Resolves early if `signal` aborts. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Device sign-ins in progress: of one principal, whose oldest one ends for the next, and in all. */
const MAX_PER_PRINCIPAL = 5;
const MAX_AT_ONCE = 1_000;
const SLOW_DOWN_MS = 5_000;
/** Polling continues after lost responses (RFC 8628, 3.5), up to this limit. */
const MAX_LOST = 20;

/** The device authorization endpoint; undefined if the server has none. */
export function deviceEndpointOf({ discovered }: PreparedSignIn): string | undefined {
  const { device_authorization_endpoint: endpoint } = discovered.authorizationServer.metadata;
  return typeof endpoint === "string" ? endpoint : undefined;
}

interface Running {
  readonly principal: string;
  readonly stop: AbortController;
}

/** The device sign-ins of one process. `close` ends them. */
export class DeviceSignIns {
  /** By login, the oldest first. */
  readonly #running = new Map<string, Running>();

  constructor(
    private readonly context: SignInContext,
    private readonly wait: Wait,
  ) {}

  /** Starts a device sign-in and polls in the background. @throws SignInRefusal, OAuthError, VaultError */
  async begin(subject: SignInSubject, prepared: PreparedSignIn): Promise<DeviceSignIn> {
    const endpoint = deviceEndpointOf(prepared);
    const { issuer } = prepared.discovered.authorizationServer;
    if (endpoint === undefined) {
      throw new SignInRefusal(
        `${issuer} does not support the device grant. Omit --device: the URL can be opened anywhere, and the URL that the browser ends at can be pasted back.`,
        409,
      );
    }
    const own = [...this.#running.values()].filter(
      ({ principal: owner, stop }) => owner === subject.principal && !stop.signal.aborted,
    );
    if (own.length >= MAX_PER_PRINCIPAL)
      own[0]?.stop.abort("a newer sign-in of the principal took its place");
    else if (this.#running.size >= MAX_AT_ONCE) {
      throw new SignInRefusal(`${MAX_AT_ONCE} device sign-ins are in progress; try again later.`, 503);
    }
    const { scopes } = prepared;
    const at = serverNamed(this.context, subject.server);
    await pinIssuer(this.context.vault, at, prepared.discovered.authorizationServer, this.context.now());
    const started = await startDeviceAuthorization(await this.#tokens(subject, prepared), endpoint, scopes);
    if (started.kind !== "started") throw await refusalOf(this.context, started, { ...subject, prepared });
    const login = randomBytes(24).toString("base64url");
    const { server, principal } = subject;
    await this.context.pending.put("login", login, { server, principal, state: "waiting" });
    this.context.events.happened("started", subject, { issuer, scopes: scopes.join(" ") });
    const stop = new AbortController();
    this.#running.set(login, { principal, stop });
    this.#finish(subject, prepared, started, { login, signal: stop.signal })
      // Only a full disk causes this; the waiting command then reaches its own timeout.
      .catch((error: unknown) => this.#refused(subject, prepared, error))
      .finally(() => {
        this.#running.delete(login);
      });
    const { userCode, verificationUri, verificationUriComplete: complete } = started;
    return {
      login,
      userCode,
      verificationUri,
      ...(complete !== undefined && { verificationUriComplete: complete }),
    };
  }

  close(): void {
    for (const { stop } of this.#running.values()) stop.abort("the gateway has stopped");
  }

  async #finish(
    subject: SignInSubject,
    prepared: PreparedSignIn,
    started: DeviceAuthorization,
    { login, signal }: { readonly login: string; readonly signal: AbortSignal },
  ): Promise<void> {
    const { server, principal } = subject;
    try {
      const outcome = await this.#poll(subject, prepared, started, signal);
      if (outcome.kind !== "tokens") throw await refusalOf(this.context, outcome, { ...subject, prepared });
      const { tokens } = outcome;
      await storeAndNotify(
        this.context,
        credentialOf(subject, prepared, prepared.scopes, "device_code", tokens),
      );
      const scopes = grantedScopes(tokens, prepared.scopes);
      await noteEnd(this.context, login, { server, principal, state: "done", scopes });
    } catch (error) {
      const reason = this.#refused(subject, prepared, error);
      await noteEnd(this.context, login, { server, principal, state: "failed", reason });
    }
  }

  async #poll(
    subject: SignInSubject,
    prepared: PreparedSignIn,
    { deviceCode, expiresAt, intervalMs }: DeviceAuthorization,
    signal: AbortSignal,
  ): Promise<TokenOutcome> {
    const tokens = await this.#tokens(subject, prepared);
    let interval = intervalMs;
    let lost = 0;
    for (;;) {
      await this.wait(interval, signal);
      if (signal.aborted) return { kind: "refused", error: String(signal.reason) };
      if (this.context.now() >= expiresAt) return { kind: "refused", error: "expired_token" };
      const outcome = await pollDeviceToken(tokens, deviceCode);
      if (outcome.kind === "pending") {
        if (outcome.slowDown) interval += SLOW_DOWN_MS;
        continue;
      }
      if (outcome.kind !== "unavailable" && outcome.kind !== "ambiguous") return outcome;
      lost += 1;
      if (lost > MAX_LOST) return outcome;
      interval += SLOW_DOWN_MS;
    }
  }

  #tokens(subject: SignInSubject, prepared: PreparedSignIn) {
    const server = serverNamed(this.context, subject.server);
    return tokenContext(server, endpointsOf(prepared), this.context.now);
  }

  #refused(subject: SignInSubject, prepared: PreparedSignIn, error: unknown): string {
    const reason = asRefusal(error)?.message ?? "internal error";
    const { issuer } = prepared.discovered.authorizationServer;
    this.context.events.happened("refused", subject, { issuer, reason });
    return reason;
  }
}
