/** Which `Authorization` header does one HTTP request carry, and is it sent again when the server refuses that? */
import type { RejectedRequest, RequestCredentials } from "../../core/credentials.js";
import { GatewayError } from "../../core/errors.js";
import { Stop } from "../../core/stop.js";
import { headerOf, type ResponseHeaders } from "./message-bodies.js";

/** The credentials of all requests over one channel. */
export interface ChannelCredentials extends RequestCredentials {
  /** False while the server has not asked for any: its requests carry none until then. */
  readonly areUsed: boolean;
}

/** A request is sent at most this often: refused once for its token, and once for its scopes. */
const MAX_ATTEMPTS = 3;

/** The authorization of one request. */
export class RequestAuthorization {
  /** The header to send; undefined until `obtain`, and where the request carries none. */
  header: string | undefined;
  readonly #credentials: ChannelCredentials;
  #attempts = 0;
  #rejected: RejectedRequest | undefined;
  #stop: Stop | undefined;

  constructor(credentials: ChannelCredentials) {
    this.#credentials = credentials;
  }

  /** Undefined where the request can be sent at once; else resolves to the header, or to why it cannot be sent. */
  obtain(): Promise<string | GatewayError> | undefined {
    if (!this.#credentials.areUsed) return undefined;
    this.header = this.#credentials.header;
    if (this.header !== undefined) return undefined;
    return this.#settled(this.#credentials.obtain(this.#signal));
  }

  /** Whether the response refuses the credentials, so that `renew` decides what becomes of the request. */
  refuses(status: number, headers: ResponseHeaders): boolean {
    if (status !== 401 && status !== 403) return false;
    const challenge = headerOf(headers, "www-authenticate");
    if (status === 403 && !/\binsufficient_scope\b/.test(challenge ?? "")) return false;
    this.#attempts += 1;
    if (this.#attempts >= MAX_ATTEMPTS) return false;
    this.#rejected = { status, challenge, sentHeader: this.header, attempts: this.#attempts };
    return true;
  }

  /** Whether a response that refuses the credentials was received and `renew` is due. */
  get isRefused(): boolean {
    return this.#rejected !== undefined;
  }

  /** Resolves to the header to send the request with again, or to the error that it fails with. */
  renew(): Promise<string | GatewayError> {
    const rejected = this.#rejected;
    this.#rejected = undefined;
    if (rejected === undefined) throw new RangeError("no response has refused the credentials");
    return this.#settled(this.#credentials.onRejected(rejected, this.#signal));
  }

  /** The request was cancelled: nothing is waited for any longer. */
  abandon(): void {
    this.#stop?.abort();
  }

  get #signal(): Stop {
    this.#stop ??= new Stop();
    return this.#stop;
  }

  async #settled(answer: Promise<string | GatewayError>): Promise<string | GatewayError> {
    try {
      const settled = await answer;
      if (typeof settled === "string") this.header = settled;
      return settled;
    } catch (error) {
      if (error instanceof GatewayError) return error;
      return new GatewayError("upstream_unavailable", "gateway", "its credentials could not be had", {
        cause: error,
      });
    }
  }
}
