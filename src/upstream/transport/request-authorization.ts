/** Which `Authorization` header does one HTTP request carry, and is it sent again when the server refuses that? */
import type { RejectedRequest, RequestCredentials } from "../../core/credentials.js";
import { GatewayError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { headerOf, type ResponseHeaders } from "./message-bodies.js";

/** The credentials of all requests over one channel. */
export interface ChannelCredentials extends Omit<RequestCredentials, "obtain" | "onRejected"> {
  /** False while the server asks for none: its requests carry none until it does. */
  readonly areUsed: boolean;
  /** As for one principal; undefined where the request is sent without. */
  obtain(signal: StopSignal): Promise<string | undefined>;
  /** As for one principal; undefined where no sign-in is asked for, so that the response stands. */
  onRejected(rejected: RejectedRequest, signal: StopSignal): Promise<string | GatewayError | undefined>;
}

/**
 * The credentials of an event stream, which a server may refuse although it takes all calls: then there is no stream, and calls
 * are not affected. A stream that was open is refused for its token, which is renewed.
 *
 * @param wasOpen whether the server has accepted the stream before
 */
export function streamCredentials(
  credentials: ChannelCredentials | undefined,
  wasOpen: () => boolean,
): ChannelCredentials | undefined {
  if (credentials === undefined) return undefined;
  return {
    get areUsed() {
      return credentials.areUsed;
    },
    get header() {
      return credentials.header;
    },
    obtain: (signal) => credentials.obtain(signal),
    async onRejected(rejected, signal) {
      if (wasOpen()) return credentials.onRejected(rejected, signal);
      // A call may have renewed the token meanwhile.
      const { header } = credentials;
      return credentials.areUsed && header !== rejected.sentHeader ? header : undefined;
    },
  };
}

/** A request is sent at most this often: refused once for its token, and once for its scopes. */
const MAX_ATTEMPTS = 3;
/** Of a body, for the words of the server in it. */
const MAX_KEPT_BYTES = 4096;

/** The authorization of one request. */
export class RequestAuthorization {
  /** The header to send; undefined until `obtain`, and where the request carries none. */
  header: string | undefined;
  readonly #credentials: ChannelCredentials;
  #attempts = 0;
  #rejected: RejectedRequest | undefined;
  #stop: Stop | undefined;
  /** The response to a request without credentials, which may stand. */
  #response: { readonly headers: ResponseHeaders; body: Buffer } | undefined;

  constructor(credentials: ChannelCredentials) {
    this.#credentials = credentials;
  }

  /** Undefined where the request can be sent at once; else resolves when it can, or to why it cannot be sent. */
  obtain(): Promise<string | GatewayError | undefined> | undefined {
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
    this.#response = this.#credentials.areUsed ? undefined : { headers, body: Buffer.alloc(0) };
    return true;
  }

  /** Keeps the beginning of the body of such a response. */
  keep(chunk: Buffer): void {
    const response = this.#response;
    if (response === undefined || response.body.length >= MAX_KEPT_BYTES) return;
    response.body = Buffer.concat([response.body, chunk.subarray(0, MAX_KEPT_BYTES - response.body.length)]);
  }

  /** The refusing response, once `renew` says that it stands. */
  get response(): { readonly headers: ResponseHeaders; readonly body: Buffer } | undefined {
    return this.#response;
  }

  /** Whether a response that refuses the credentials was received and `renew` is due. */
  get isRefused(): boolean {
    return this.#rejected !== undefined;
  }

  /** Resolves to the header to send the request with again, to the error that it fails with, or to undefined: the response stands. */
  renew(): Promise<string | GatewayError | undefined> {
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

  async #settled<T extends string | GatewayError | undefined>(answer: Promise<T>): Promise<T | GatewayError> {
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
