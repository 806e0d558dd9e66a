/** Keeps one connection to a server: opens it, watches it, and opens it again when it is gone. */

import { GatewayError } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { RestartReason, UpstreamState } from "../../core/upstream.js";
import { backoff } from "../protocol/backoff.js";
import type { Connected } from "./connect.js";
import { watchHealth } from "./health-check.js";

export interface SupervisorSettings {
  readonly server: string;
  readonly log: Logger;
  /** @throws GatewayError; bounded in time by itself. */
  readonly open: (signal: StopSignal) => Promise<Connected>;
  /** Called with each new connection, before anybody else gets it. */
  readonly onOpen: (connected: Connected) => void;
  readonly onUnavailable: (cause: GatewayError) => void;
  readonly onRestart: (reason: RestartReason) => void;
  /** Whether the connection is wanted when nobody asks for it; if not, it is opened again by the next who does. */
  readonly keepOpen: () => boolean;
  /**
   * True where a call may try at once although the next attempt is not due: there is no process that would be
   * started over and over.
   */
  readonly allowsEarlyRetry: boolean;
  /** Numbers from 0 up to 1, for the jitter of the backoff. */
  readonly random: () => number;
}

/** A connection that stood for so long (ms) was a good one: its loss starts the backoff from the beginning. */
const STABLE_MS = 5_000;
/** A call may bring the next attempt forward, once this share of the wait before it is over, and this time (ms). */
const EARLY_RETRY_SHARE = 0.5;
const EARLY_RETRY_MS = 1_000;

/** An open connection, since when, and what ends the watch over it. */
interface OpenConnection extends Connected {
  readonly since: number;
  readonly health: { checkNow(): void; stop(): void };
}

export class Supervisor {
  readonly #settings: SupervisorSettings;
  readonly #stop = new AbortController();
  #state: UpstreamState = "starting";
  #lastError: string | undefined;
  /** Why it was not there when that was told last; until it is there again. */
  #lastWarning: string | undefined;
  #open: OpenConnection | undefined;
  #attempt: Promise<Connected> | undefined;
  /** The end of the connection before; the next one waits for it, so that there are never two processes. */
  #closing: Promise<void>;
  /** Failures in a row, quick losses among them; and why the next attempt is made. */
  #failures = 0;
  #reason: RestartReason | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #retryAt = 0;
  /** How long after the last attempt a call may bring the next one forward: the backoff holds for calls too. */
  #earlyRetryMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `after` is what the first attempt waits for: the end of another connection in whose place this one comes. */
  constructor(settings: SupervisorSettings, after: Promise<void> = Promise.resolve()) {
    this.#settings = settings;
    this.#closing = after;
  }

  get state(): UpstreamState {
    return this.#state;
  }

  /** Why it is not ready, in a plain sentence. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  get isConnecting(): boolean {
    return this.#attempt !== undefined;
  }

  /** The open connection, if there is one at this moment. */
  get current(): Connected | undefined {
    return this.#open;
  }

  /** Begins the first attempt, and does not wait for it. */
  start(): void {
    if (this.#state === "starting" && this.#attempt === undefined) this.#connect().catch(ignore);
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
    const earlyRetry = this.#settings.allowsEarlyRetry && now - this.#attemptedAt >= this.#earlyRetryMs;
    if (this.#state === "starting" || earlyRetry || now >= this.#retryAt) return this.#connect();
    throw this.#unavailable(`is not available: ${this.#lastError ?? "the reason is not known"}`);
  }

  /** Somebody could not reach the server over `met`: it is asked for a sign of life now, not when it is due. */
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
    this.#state = "starting";
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
    this.#lastError = undefined;
    this.#lastWarning = undefined;
    log.info({ server, era: connected.era }, "connected");
    const ended = connected.connection.closed.then((cause) => this.#lost(connected, cause, "lost"));
    inBackground(ended, log, "taking in that a connection was lost");
    onOpen(connected);
    return this.#open;
  }

  #failed(error: unknown): never {
    this.#attempt = undefined;
    this.#attemptedAt = performance.now();
    const cause = error instanceof GatewayError ? error : this.#unavailable("could not be met", error);
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
      .catch((error: unknown) => log.debug({ server, error }, "a connection did not close well"));
  }

  /** Nothing is open: says so, and waits for the next attempt, at least as long as the server asked for. */
  #enterBackoff(cause: GatewayError, reason: RestartReason, failures: number): void {
    const { server, log, random, keepOpen, onUnavailable } = this.#settings;
    const wait = Math.max(backoff(failures, random), cause.options.retryAfterMs ?? 0);
    this.#failures = failures;
    this.#reason = reason;
    this.#state = "backoff";
    this.#lastError = cause.message;
    this.#retryAt = performance.now() + wait;
    this.#earlyRetryMs = Math.max(EARLY_RETRY_MS, wait * EARLY_RETRY_SHARE);
    const sentence = `${cause.message}; the next attempt is in ${Math.ceil(wait / 1_000)} s`;
    const facts = { server, retryInMs: Math.round(wait) };
    // The same again is no news, and one that is not there for days would fill the log with it.
    if (cause.message === this.#lastWarning) log.info(facts, sentence);
    else log.warn(facts, sentence);
    this.#lastWarning = cause.message;
    this.#timer = setTimeout(() => {
      if (keepOpen()) this.#connect().catch(ignore);
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

// Every failure of an attempt is kept in the state and told to the log and the observer by `#enterBackoff`.
const ignore = (): void => {};
