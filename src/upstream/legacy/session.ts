/** A session with a server: what was agreed at the handshake, and a new handshake when the server forgets it. */

import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { Request } from "../../wire/envelope.js";
import { backoff } from "../conversation/backoff.js";
import { isModernRefusal } from "../conversation/hop-errors.js";
import { isForgotten as isForgottenRequest } from "../conversation/sent-request.js";
import { type Answer, type Channel, type ExchangeOptions, HttpStatusError } from "../transport/channel.js";
import { type Agreement, HandshakeRefused, type HandshakeSettings, shakeHands } from "./handshake.js";

export interface SessionSettings extends Omit<HandshakeSettings, "signal"> {
  readonly log: Logger;
  /** How long (ms) the handshake after a loss may take. */
  readonly handshakeTimeoutMs: number;
  /** Numbers from 0 up to 1, for the jitter of the backoff. */
  readonly random: () => number;
  /** The session was lost and there is a new one; whatever the server knew of the old one is gone. */
  readonly renewed: () => void;
  /** The session was lost and there is no new one; whoever holds the connection must meet the server anew. */
  readonly lost: (cause: GatewayError) => void;
}

export class Session {
  readonly #channel: Channel;
  readonly #settings: SessionSettings;
  #agreement: Agreement;
  #renewal: Promise<void> | undefined;
  /** Sessions in a row that were opened for a request which the server refused in them as well. */
  #failures = 0;
  /** The last of those, and until when (by `performance.now()`) no other one is opened. */
  #useless: Agreement | undefined;
  #notBefore = 0;

  private constructor(channel: Channel, settings: SessionSettings, agreement: Agreement) {
    this.#channel = channel;
    this.#settings = settings;
    this.#agreement = agreement;
  }

  /** @throws HandshakeRefused, or a GatewayError of the channel. */
  static async open(channel: Channel, settings: SessionSettings, signal: StopSignal): Promise<Session> {
    return new Session(channel, settings, await shakeHands(channel, { ...settings, signal }));
  }

  get agreement(): Agreement {
    return this.#agreement;
  }

  /**
   * Sends a request in the current session. When the server says that it does not know the session, it has
   * not looked at the request either: then, and only then, the request is sent once more in a new session. Where it
   * says so there again, the next session is opened after the backoff of a server that cannot be met, and what it says
   * until then is the answer.
   */
  async exchange(request: Request, options: Omit<ExchangeOptions, "headers">): Promise<Answer> {
    const asked = this.#agreement;
    try {
      const answer = await this.#channel.exchange(request, { headers: asked.headers, ...options });
      if (isOutgrown(answer)) throw this.#outgrown();
      if (!saysForgotten(asked, answer) || !this.#mayRenew(asked)) return answer;
    } catch (error) {
      if (!failedAsForgotten(asked, error) || !this.#mayRenew(asked)) throw error;
    }
    await this.#renew(asked);
    if (isForgottenRequest(request)) throw this.#gone();
    return this.#exchangeAgain(request, options);
  }

  async #exchangeAgain(request: Request, options: Omit<ExchangeOptions, "headers">): Promise<Answer> {
    const renewed = this.#agreement;
    try {
      const answer = await this.#channel.exchange(request, { headers: renewed.headers, ...options });
      if (saysForgotten(renewed, answer)) this.#wasUseless(renewed);
      else this.#failures = 0;
      return answer;
    } catch (error) {
      if (failedAsForgotten(renewed, error)) this.#wasUseless(renewed);
      throw error;
    }
  }

  #mayRenew(lost: Agreement): boolean {
    return this.#agreement !== lost || performance.now() >= this.#notBefore;
  }

  #wasUseless(renewed: Agreement): void {
    if (this.#useless === renewed) return;
    this.#useless = renewed;
    this.#failures += 1;
    this.#notBefore = performance.now() + backoff(this.#failures, this.#settings.random);
  }

  /** A server of the other era has taken its place. Where there was no session to forget, nothing else tells. */
  #outgrown(): GatewayError {
    const { server, lost } = this.#settings;
    const sentence = `${server} no longer speaks the revision it was met with`;
    const error = new GatewayError("upstream_unavailable", "upstream", sentence, { server, retryable: true });
    lost(error);
    return error;
  }

  /** It had been worked on, and was waiting for an answer of its client. */
  #gone(): GatewayError {
    const { server } = this.#settings;
    const sentence = `${server} has forgotten the session while a call in it waited`;
    return new GatewayError("upstream_closed", "upstream", sentence, { server, supervised: true });
  }

  /** Many calls may meet the loss at once; they share one new handshake. */
  async #renew(lost: Agreement): Promise<void> {
    if (this.#agreement !== lost) return;
    this.#renewal ??= this.#shakeHandsAgain().finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  async #shakeHandsAgain(): Promise<void> {
    const { server, log, handshakeTimeoutMs } = this.#settings;
    log.info({ server }, "the server has forgotten the session; a new one is opened");
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), handshakeTimeoutMs);
    try {
      this.#agreement = await shakeHands(this.#channel, { ...this.#settings, signal: limit.signal });
    } catch (cause) {
      const why = cause instanceof HandshakeRefused || cause instanceof GatewayError ? cause.message : "";
      const error = new GatewayError(
        "upstream_unavailable",
        "upstream",
        `${server} has forgotten the session and could not be met again: ${why}`,
        { cause, retryable: true, server },
      );
      this.#settings.lost(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.#settings.renewed();
  }
}

const isOutgrown = ({ status, message }: Answer): boolean =>
  status === 400 && message.error !== undefined && isModernRefusal(message.error);

// 404 is what the specification asks for (2025-11-25, transports, "Session Management"); servers built after
// the examples of the first SDKs say 400 and speak of the session in words.
function isForgotten(asked: Agreement, status: number, words: string | undefined): boolean {
  if (asked.sessionId === undefined) return false;
  return status === 404 || (status === 400 && words !== undefined && /\bsession\b/i.test(words));
}

const saysForgotten = (asked: Agreement, { status, message }: Answer): boolean =>
  isForgotten(asked, status, message.error?.message);

function failedAsForgotten(asked: Agreement, error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : undefined;
  return cause instanceof HttpStatusError && isForgotten(asked, cause.status, cause.body);
}
