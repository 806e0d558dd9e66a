/** How is a connection to a server kept open? It is opened, checked while it is idle, and opened again with a backoff when it is lost. */
import { GatewayError, signInRequired } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { asOfKey } from "../../core/sign-in-command.js";
import type { StopSignal } from "../../core/stop.js";
import type { RestartReason, UpstreamState } from "../../core/upstream.js";
import { backoff } from "../connection.js";
import type { Connected } from "./connect.js";
import { type HealthChecks, watchHealth } from "./health-checks.js";

/** What a supervisor needs to open one connection and to report on it. */
interface SupervisorSettings {
  readonly server: string;
  /** The id of the credentials that the connection carries; undefined where it has none of its own. */
  readonly credentials: string | undefined;
  /** True for the connection of the server itself, false for one that is kept for single clients. */
  readonly isShared: boolean;
  readonly log: Logger;
  /** Opens a connection; has its own timeout. @throws GatewayError. */
  readonly open: (signal: StopSignal) => Promise<Connected>;
  /** Called with each new connection, before any call uses it. */
  readonly onOpen: (connected: Connected) => void;
  readonly onUnavailable: (cause: GatewayError) => void;
  readonly onRestart: (reason: RestartReason) => void;
  /** Whether a lost connection is opened again without a call; if not, it is idle after the backoff. */
  readonly keepOpen: () => boolean;
  /** Whether a missing sign-in is only assumed, so that a later attempt without it may succeed. */
  readonly mayGoWithoutSignIn: () => boolean;
  /** True where a call may bring the next attempt forward: no process would be started over and over. */
  readonly allowsEarlyRetry: boolean;
  /** Numbers from 0 up to 1, for the jitter of the backoff. */
  readonly random: () => number;
}

/** The loss of a connection that was open for this time (ms) starts the backoff from the beginning. */
const STABLE_MS = 5_000;
/** The first wait (ms) before a server that asked for a sign-in is tried without again; each is twice the one before, up to the last. */
const SIGN_IN_RETRY_MS = 60_000;
const MAX_SIGN_IN_RETRY_MS = 960_000;
/** A call may bring the next attempt forward once this share of the backoff is over, and this time (ms). */
const EARLY_RETRY_SHARE = 0.5;
const EARLY_RETRY_MS = 1_000;

/** An open connection, since when (`performance.now()`), and its health checks. */
interface OpenConnection extends Connected {
  readonly since: number;
  readonly health: HealthChecks;
}

/** Keeps one connection to one server until `close`. */
export class Supervisor {
  readonly #settings: SupervisorSettings;
  readonly #stop = new AbortController();
  #state: UpstreamState = "starting";
  #lastError: string | undefined;
  /** Whether the credentials that the connection carries have gone since it was opened. */
  #isSignedOut = false;
  /** The last cause that was logged as a warning; reset when the connection is open again. */
  #lastWarning: string | undefined;
  #open: OpenConnection | undefined;
  #lists = 0;
  #attempt: Promise<Connected> | undefined;
  /** The end of the previous connection; the next one waits for it, so that there are never two processes. */
  #closing: Promise<void>;
  /** Retries since a sign-in was found to be missing. */
  #retriesWithoutSignIn = 0;
  /** Failures in a row, with early losses; and the reason of the next attempt. */
  #failures = 0;
  #reason: RestartReason | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #retryAt = 0;
  /** The same, in ms since 1970. */
  #nextTryAt = 0;
  /** The time (ms) after the last attempt from which on a call may bring the next one forward. */
  #earlyRetryMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The first attempt waits for `after`: the end of the connection that this one replaces. */
  constructor(settings: SupervisorSettings, after: Promise<void> = Promise.resolve()) {
    this.#settings = settings;
    this.#closing = after;
  }

  get state(): UpstreamState {
    const lacksOnlySignIn = this.#state === "ready" || this.#state === "idle";
    return this.#isSignedOut && lacksOnlySignIn ? "needs_sign_in" : this.#state;
  }

  /** Why the connection is not open, as a sentence. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** When it is opened again, in ms since 1970; undefined if that is not scheduled. */
  get nextTryAt(): number | undefined {
    return this.#state === "backoff" && this.#settings.keepOpen() ? this.#nextTryAt : undefined;
  }

  /** The id of the credentials that the connection carries. */
  get credentials(): string | undefined {
    return this.#settings.credentials;
  }

  /** Its credentials are gone or no longer accepted. An open connection stays for the next sign-in; calls get the error. */
  onSignedOut(): void {
    const { server, isShared, log, credentials } = this.#settings;
    const isNew = !this.#isSignedOut && (this.#state === "ready" || this.#state === "idle");
    this.#isSignedOut = true;
    if (!isNew) return;
    const { message } = signInRequired(server, asOfKey(credentials));
    this.#lastError = message;
    if (isShared) log.warn({ server }, message);
    else log.debug({ server }, message);
  }

  /** Connects now where only the sign-in was missing. */
  onSignedIn(): void {
    if (this.#isSignedOut && this.#open !== undefined) this.#lastError = undefined;
    this.#isSignedOut = false;
    if (this.#state === "needs_sign_in" && this.#attempt === undefined) this.#connect().catch(ignore);
  }

  get isConnecting(): boolean {
    return this.#attempt !== undefined;
  }

  /** The open connection, if there is one at this moment. */
  get current(): Connected | undefined {
    return this.#open;
  }

  /** Begins the first attempt, or one from `idle`, and returns at once. */
  start(): void {
    const isDue = this.#state === "starting" || this.#state === "idle";
    if (isDue && this.#attempt === undefined) this.#connect().catch(ignore);
  }

  /** Whether a list is being loaded over the connection, which does not count as a call. */
  get isListing(): boolean {
    return this.#lists > 0;
  }

  /** Runs `load`, which loads a list over the open connection; until then it is not ended for lack of use. */
  async duringList<T>(load: () => Promise<T>): Promise<T> {
    this.#lists += 1;
    try {
      return await load();
    } finally {
      this.#lists -= 1;
    }
  }

  /** Leaves the first attempt to the first use. */
  startIdle(): void {
    if (this.#state === "starting" && this.#attempt === undefined) this.#state = "idle";
  }

  /**
   * Ends the open connection until the next use, which waits for that end; `why` is for the log. False where none is
   * open, or a call or a list is running on it.
   */
  rest(why: string): boolean {
    const open = this.#open;
    if (open === undefined || this.isListing || open.connection.idleSince === undefined) return false;
    const { server, log } = this.#settings;
    this.#open = undefined;
    open.health.stop();
    this.#failures = 0;
    this.#reason = undefined;
    this.#state = "idle";
    this.#discard(open);
    log.info({ server }, `idle until the next call: ${why}`);
    return true;
  }

  /**
   * Ends the open connection, with the calls on it, and opens another one at once, whatever the backoff; resolves when that
   * has succeeded or failed. A connection that is being opened is awaited. Never rejects.
   */
  async restart(): Promise<void> {
    if (this.#state === "stopped") return;
    const open = this.#open;
    if (open !== undefined) {
      const { onUnavailable } = this.#settings;
      this.#open = undefined;
      open.health.stop();
      this.#discard(open);
      onUnavailable(this.#unavailable("is started again by an operator"));
    }
    this.#failures = 0;
    if (this.#attempt === undefined) this.#reason = "operator";
    await (this.#attempt ?? this.#connect()).catch(ignore);
  }

  /**
   * The open connection, or the one that is being opened.
   *
   * @throws GatewayError `upstream_unavailable` when none is open and none is on its way, or it does not come.
   */
  async connection(): Promise<Connected> {
    if (this.#open !== undefined) return this.#open;
    if (this.#attempt !== undefined) return this.#attempt;
    if (this.#state === "stopped") throw this.#unavailable("was stopped");
    const now = performance.now();
    // Another process may have signed in meanwhile; without credentials nothing is sent.
    if (this.#state === "needs_sign_in") return this.#connect();
    const earlyRetry = this.#settings.allowsEarlyRetry && now - this.#attemptedAt >= this.#earlyRetryMs;
    if (this.#state === "starting" || this.#state === "idle" || earlyRetry || now >= this.#retryAt)
      return this.#connect();
    throw this.#unavailable(`is not available: ${this.#lastError ?? "the reason is not known"}`);
  }

  /** Resolves when the last abandoned connection has closed. */
  get lastClosed(): Promise<void> {
    return this.#closing;
  }

  /** A call could not reach the server over `connected`: the health check runs now. */
  checkNow(connected: Connected): void {
    if (connected.connection === this.#open?.connection) this.#open.health.checkNow();
  }

  async close(): Promise<void> {
    this.#state = "stopped";
    this.#stop.abort();
    clearTimeout(this.#timer);
    const open = this.#open;
    this.#open = undefined;
    open?.health.stop();
    await this.#attempt?.catch(ignore);
    await this.#closing;
    await open?.connection.close();
  }

  #connect(): Promise<Connected> {
    clearTimeout(this.#timer);
    if (this.#reason !== undefined) this.#settings.onRestart(this.#reason);
    if (this.#state !== "needs_sign_in") this.#state = "starting";
    this.#attempt = this.#closing
      .then(() => this.#settings.open(this.#stop.signal))
      .then(
        (connected) => this.#succeeded(connected),
        (error: unknown) => this.#failed(error),
      );
    return this.#attempt;
  }

  #succeeded(connected: Connected): Connected {
    this.#attempt = undefined;
    const { server, log, onOpen } = this.#settings;
    if (this.#stop.signal.aborted) {
      this.#discard(connected);
      throw this.#unavailable("was stopped");
    }
    const health = watchHealth(connected.connection, server, log, (cause) =>
      this.#lost(connected, cause, "unresponsive"),
    );
    this.#open = { ...connected, since: performance.now(), health };
    this.#state = "ready";
    this.#retriesWithoutSignIn = 0;
    this.#lastError = undefined;
    this.#lastWarning = undefined;
    log.info({ server, era: connected.era }, "connected");
    const ended = connected.connection.closed.then((cause) => this.#lost(connected, cause, "lost"));
    inBackground(ended, log, "handling the loss of a connection");
    onOpen(connected);
    return this.#open;
  }

  #failed(error: unknown): never {
    this.#attempt = undefined;
    this.#attemptedAt = performance.now();
    const cause = error instanceof GatewayError ? error : this.#unavailable("could not be connected", error);
    if (!this.#stop.signal.aborted) this.#enterBackoff(cause, "failed_start", this.#failures + 1);
    throw cause;
  }

  #lost(connected: Connected, cause: GatewayError, reason: RestartReason): void {
    const open = this.#open;
    if (open === undefined || open.connection !== connected.connection) return;
    this.#open = undefined;
    open.health.stop();
    this.#discard(open);
    const stable = performance.now() - open.since >= STABLE_MS;
    this.#enterBackoff(cause, reason, stable ? 1 : this.#failures + 1);
  }

  #discard({ connection }: Connected): void {
    const { server, log } = this.#settings;
    this.#closing = connection
      .close()
      .catch((error: unknown) => log.debug({ server, error }, "a connection failed to close"));
  }

  /** Reports that credentials are missing. Where the server did ask for a sign-in, there is no next attempt before one or a call. */
  #enterNeedsSignIn(cause: GatewayError): void {
    const { server, log, random, mayGoWithoutSignIn, onUnavailable, isShared } = this.#settings;
    this.#failures = 0;
    this.#reason = undefined;
    this.#state = "needs_sign_in";
    this.#lastError = cause.message;
    // One line for the server; that a principal has not signed in is no news for the operator.
    if (isShared && cause.message !== this.#lastWarning) log.warn({ server }, cause.message);
    else log.debug({ server }, cause.message);
    this.#lastWarning = cause.message;
    if (mayGoWithoutSignIn()) {
      const wait = Math.min(SIGN_IN_RETRY_MS * 2 ** this.#retriesWithoutSignIn, MAX_SIGN_IN_RETRY_MS);
      this.#timer = setTimeout(() => this.#retryWithoutSignIn(), wait * (1 + random() / 10));
    }
    onUnavailable(cause);
  }

  #retryWithoutSignIn(): void {
    this.#retriesWithoutSignIn += 1;
    if (this.#settings.keepOpen()) this.#connect().catch(ignore);
  }

  /** Reports the failure, and schedules the next attempt: after the backoff, or the `Retry-After` if that is longer. */
  #enterBackoff(cause: GatewayError, reason: RestartReason, failures: number): void {
    if (cause.code === "sign_in_required") {
      this.#enterNeedsSignIn(cause);
      return;
    }
    const { server, log, random, keepOpen, onUnavailable } = this.#settings;
    const wait = Math.max(backoff(failures, random), cause.options.retryAfterMs ?? 0);
    this.#failures = failures;
    this.#reason = reason;
    this.#state = "backoff";
    this.#lastError = cause.message;
    this.#retryAt = performance.now() + wait;
    this.#nextTryAt = Date.now() + wait;
    this.#earlyRetryMs = Math.max(EARLY_RETRY_MS, wait * EARLY_RETRY_SHARE);
    const seconds = Math.ceil(wait / 1_000);
    const next = keepOpen()
      ? `the next attempt is in ${seconds} s`
      : `the next use starts it again, in ${seconds} s at the earliest`;
    const sentence = `${cause.message}; ${next}`;
    const facts = { server, retryInMs: Math.round(wait) };
    // The same cause again is logged at info: a server that is away for days would fill the log with warnings.
    if (cause.message === this.#lastWarning) log.info(facts, sentence);
    else log.warn(facts, sentence);
    this.#lastWarning = cause.message;
    this.#timer = setTimeout(() => {
      if (keepOpen()) this.#connect().catch(ignore);
      else this.#state = "idle";
    }, wait);
    onUnavailable(cause);
  }

  #unavailable(what: string, cause?: unknown): GatewayError {
    const { server } = this.#settings;
    const left = this.#retryAt - performance.now();
    return new GatewayError("upstream_unavailable", "upstream", `${server} ${what}`, {
      server,
      cause,
      retryable: this.#state !== "stopped",
      supervised: true,
      ...(this.#state === "backoff" && left > 0 && { retryAfterMs: left }),
    });
  }
}

// `#enterBackoff` has reported every failure of an attempt to the state, the log and the observer.
const ignore = (): void => {};
