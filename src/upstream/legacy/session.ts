/** A session with a server: what was agreed at the handshake, and a new handshake when the server forgets it. */

import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { Request } from "../../wire/envelope.js";
import { backoff } from "../protocol/backoff.js";
import { isModernRefusal } from "../protocol/hop-errors.js";
import { isReleased as isForgottenRequest } from "../protocol/sent-request.js";
import {
  type Channel,
  type ChannelResponse,
  type ExchangeOptions,
  HttpStatusError,
} from "../transport/channel.js";
import {
  HandshakeRefused,
  type HandshakeSettings,
  type NegotiatedSession,
  performHandshake,
} from "./handshake.js";

export interface SessionSettings extends Omit<HandshakeSettings, "signal"> {
  readonly log: Logger;
  /** How long (ms) the handshake after a loss may take. */
  readonly handshakeTimeoutMs: number;
  /** Numbers from 0 up to 1, for the jitter of the backoff. */
  readonly random: () => number;
  /** The session was lost and there is a new one; whatever the server knew of the old one is gone. */
  readonly onRenewed: () => void;
  /** The session was lost and there is no new one; whoever holds the connection must meet the server anew. */
  readonly onLost: (cause: GatewayError) => void;
}

export class Session {
  readonly #channel: Channel;
  readonly #settings: SessionSettings;
  #negotiated: NegotiatedSession;
  #renewal: Promise<void> | undefined;
  /** Sessions in a row that were opened for a request which the server refused in them as well. */
  #failures = 0;
  /** The last of those, and until when (by `performance.now()`) no other one is opened. */
  #rejected: NegotiatedSession | undefined;
  #notBefore = 0;

  private constructor(channel: Channel, settings: SessionSettings, agreement: NegotiatedSession) {
    this.#channel = channel;
    this.#settings = settings;
    this.#negotiated = agreement;
  }

  /** @throws HandshakeRefused, or a GatewayError of the channel. */
  static async open(channel: Channel, settings: SessionSettings, signal: StopSignal): Promise<Session> {
    return new Session(channel, settings, await performHandshake(channel, { ...settings, signal }));
  }

  get negotiated(): NegotiatedSession {
    return this.#negotiated;
  }

  /**
   * Sends a request in the current session. When the server says that it does not know the session, it has
   * not looked at the request either: then, and only then, the request is sent once more in a new session. Where it
   * says so there again, the next session is opened after the backoff of a server that cannot be met, and what it says
   * until then is the answer.
   */
  async exchange(request: Request, options: Omit<ExchangeOptions, "headers">): Promise<ChannelResponse> {
    const negotiated = this.#negotiated;
    try {
      const answer = await this.#channel.exchange(request, { headers: negotiated.headers, ...options });
      if (isEraChange(answer)) throw this.#eraChanged();
      if (!respondsUnknownSession(negotiated, answer) || !this.#mayRenew(negotiated)) return answer;
    } catch (error) {
      if (!failedWithUnknownSession(negotiated, error) || !this.#mayRenew(negotiated)) throw error;
    }
    await this.#renew(negotiated);
    if (isForgottenRequest(request)) throw this.#sessionLost();
    return this.#exchangeAgain(request, options);
  }

  async #exchangeAgain(
    request: Request,
    options: Omit<ExchangeOptions, "headers">,
  ): Promise<ChannelResponse> {
    const renewed = this.#negotiated;
    try {
      const answer = await this.#channel.exchange(request, { headers: renewed.headers, ...options });
      if (respondsUnknownSession(renewed, answer)) this.#renewalRejected(renewed);
      else this.#failures = 0;
      return answer;
    } catch (error) {
      if (failedWithUnknownSession(renewed, error)) this.#renewalRejected(renewed);
      throw error;
    }
  }

  #mayRenew(lost: NegotiatedSession): boolean {
    return this.#negotiated !== lost || performance.now() >= this.#notBefore;
  }

  #renewalRejected(renewed: NegotiatedSession): void {
    if (this.#rejected === renewed) return;
    this.#rejected = renewed;
    this.#failures += 1;
    this.#notBefore = performance.now() + backoff(this.#failures, this.#settings.random);
  }

  /** A server of the other era has taken its place. Where there was no session to forget, nothing else tells. */
  #eraChanged(): GatewayError {
    const { server, onLost } = this.#settings;
    const sentence = `${server} no longer speaks the revision it was met with`;
    const error = new GatewayError("upstream_unavailable", "upstream", sentence, { server, retryable: true });
    onLost(error);
    return error;
  }

  /** It had been worked on, and was waiting for an answer of its client. */
  #sessionLost(): GatewayError {
    const { server } = this.#settings;
    const sentence = `${server} has forgotten the session while a call in it waited`;
    return new GatewayError("upstream_closed", "upstream", sentence, { server, supervised: true });
  }

  /** Many calls may meet the loss at once; they share one new handshake. */
  async #renew(lost: NegotiatedSession): Promise<void> {
    if (this.#negotiated !== lost) return;
    this.#renewal ??= this.#openNewSession().finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  async #openNewSession(): Promise<void> {
    const { server, log, handshakeTimeoutMs } = this.#settings;
    log.info({ server }, "the server has forgotten the session; a new one is opened");
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), handshakeTimeoutMs);
    try {
      this.#negotiated = await performHandshake(this.#channel, { ...this.#settings, signal: limit.signal });
    } catch (cause) {
      const why = cause instanceof HandshakeRefused || cause instanceof GatewayError ? cause.message : "";
      const error = new GatewayError(
        "upstream_unavailable",
        "upstream",
        `${server} has forgotten the session and could not be met again: ${why}`,
        { cause, retryable: true, server },
      );
      this.#settings.onLost(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.#settings.onRenewed();
  }
}

const isEraChange = ({ status, message }: ChannelResponse): boolean =>
  status === 400 && message.error !== undefined && isModernRefusal(message.error);

// 404 is what the specification asks for (2025-11-25, transports, "Session Management"); servers built after
// the examples of the first SDKs say 400 and speak of the session in words.
function isUnknownSession(negotiated: NegotiatedSession, status: number, words: string | undefined): boolean {
  if (negotiated.sessionId === undefined) return false;
  return status === 404 || (status === 400 && words !== undefined && /\bsession\b/i.test(words));
}

const respondsUnknownSession = (
  negotiated: NegotiatedSession,
  { status, message }: ChannelResponse,
): boolean => isUnknownSession(negotiated, status, message.error?.message);

function failedWithUnknownSession(negotiated: NegotiatedSession, error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : undefined;
  return cause instanceof HttpStatusError && isUnknownSession(negotiated, cause.status, cause.body);
}
