/** Which pending request or listener a message on a shared connection belongs to. */
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import { type Envelope, integerInText, isResponse, type MessageId } from "../../wire/envelope.js";
import {
  type ChannelResponse,
  deliverSafely,
  type ExchangeOptions,
  type ResponseObserver,
  type UnmatchedHandlers,
} from "./channel.js";

class PendingResponse {
  #resolve: ((answer: ChannelResponse) => void) | undefined;
  #reject: ((error: GatewayError) => void) | undefined;
  #signal: StopSignal | undefined;
  #onAbort: (() => void) | undefined;
  #observer: ResponseObserver | undefined;

  constructor(
    resolve: (answer: ChannelResponse) => void,
    reject: (error: GatewayError) => void,
    observer: ResponseObserver | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#observer = observer;
  }

  watch(signal: StopSignal, giveUp: () => void): void {
    this.#signal = signal;
    this.#onAbort = giveUp;
    signal.addEventListener("abort", giveUp);
  }

  resolve(answer: ChannelResponse): void {
    this.#observer?.onResponse();
    this.#resolve?.(answer);
    this.#clear();
  }

  reject(error: GatewayError): void {
    this.#reject?.(error);
    this.#clear();
  }

  // A Map with constant churn rehashes, and its old tables keep entries alive past the young generation; so a settled
  // entry must not reference anything large.
  #clear(): void {
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#resolve = undefined;
    this.#reject = undefined;
    this.#signal = undefined;
    this.#onAbort = undefined;
    this.#observer = undefined;
  }
}

/** Matches responses to pending requests by id; other messages go to the listeners. */
export class MessageDemultiplexer {
  readonly #pending = new Map<MessageId, PendingResponse>();
  readonly #listeners = new Set<(message: Envelope) => void>();
  readonly #unmatched: UnmatchedHandlers;

  constructor(unmatched: UnmatchedHandlers) {
    this.#unmatched = unmatched;
  }

  /**
   * Waits for the response with this id, which is free again when the promise settles; a later response is unmatched.
   *
   * @throws Error when a request with this id is in flight
   */
  wait(id: MessageId, options: ExchangeOptions | undefined): Promise<ChannelResponse> {
    const signal = options?.signal;
    if (this.#pending.has(id)) throw new Error("a request with this id is in flight already");
    return new Promise<ChannelResponse>((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(cancelled());
        return;
      }
      const waiting = new PendingResponse(resolve, reject, options?.responseObserver);
      if (signal !== undefined) waiting.watch(signal, () => this.reject(id, cancelled()));
      this.#pending.set(id, waiting);
    });
  }

  /** Delivers all messages that are not responses, until the returned function is called. */
  listen(onMessage: (message: Envelope) => void): () => void {
    // A wrapper per call: the same function may be added twice.
    const listener = (message: Envelope): void => onMessage(message);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  deliver(message: Envelope): void {
    if (isResponse(message)) {
      const id = this.#meantBy(message.id);
      const waiting = this.#take(id);
      if (waiting === undefined || id === undefined) this.#unmatched.onUnmatchedMessage?.(message);
      else waiting.resolve({ message: withId(message, id), status: 200, header: noHeader });
      return;
    }
    if (this.#listeners.size === 0) this.#unmatched.onUnmatchedMessage?.(message);
    for (const onMessage of this.#listeners) deliverSafely(onMessage, message, this.#unmatched);
  }

  /** Fails one pending request; false when no request with this id is pending. */
  reject(id: MessageId, error: GatewayError): boolean {
    const waiting = this.#take(this.#meantBy(id));
    waiting?.reject(error);
    return waiting !== undefined;
  }

  /** The connection has ended: fails all pending requests and removes the listeners. */
  end(error: GatewayError): void {
    for (const id of [...this.#pending.keys()]) this.reject(id, error);
    this.#listeners.clear();
  }

  /** By value and type; "1" is 1 too where no request with the id "1" is pending, as some servers return integers as text. */
  #meantBy(returned: MessageId | undefined): MessageId | undefined {
    return returned === undefined || this.#pending.has(returned) ? returned : integerInText(returned);
  }

  #take(id: MessageId | undefined): PendingResponse | undefined {
    const waiting = id === undefined ? undefined : this.#pending.get(id);
    if (waiting !== undefined) this.#pending.delete(id as MessageId);
    return waiting;
  }
}

const withId = (message: Envelope, id: MessageId): Envelope =>
  message.id === id ? message : { ...message, id };

const noHeader = (): undefined => undefined;

function cancelled(): GatewayError {
  return new GatewayError("cancelled", "downstream", "the call was cancelled");
}
