/** What comes on a connection where all messages come mixed: responses find who waits for them, the rest who listens. */

import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import { type Envelope, isResponse } from "../../wire/envelope.js";
import type { MessageId } from "../../wire/message-id.js";
import type { Answer, ExchangeOptions, Waiter } from "./channel.js";
import { type Leftovers, letHear } from "./leftovers.js";

class Waiting {
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((error: GatewayError) => void) | undefined;
  #signal: StopSignal | undefined;
  #giveUp: (() => void) | undefined;
  #waiter: Waiter | undefined;

  constructor(
    resolve: (answer: Answer) => void,
    reject: (error: GatewayError) => void,
    waiter: Waiter | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#waiter = waiter;
  }

  watch(signal: StopSignal, giveUp: () => void): void {
    this.#signal = signal;
    this.#giveUp = giveUp;
    signal.addEventListener("abort", giveUp);
  }

  resolve(answer: Answer): void {
    this.#waiter?.answered();
    this.#resolve?.(answer);
    this.#forget();
  }

  reject(error: GatewayError): void {
    this.#reject?.(error);
    this.#forget();
  }

  // A Map that is filled and emptied all the time is copied again and again, and what a discarded copy points
  // to outlives the young generation; so nothing large may hang on an entry that is done with.
  #forget(): void {
    if (this.#giveUp !== undefined) this.#signal?.removeEventListener("abort", this.#giveUp);
    this.#resolve = undefined;
    this.#reject = undefined;
    this.#signal = undefined;
    this.#giveUp = undefined;
    this.#waiter = undefined;
  }
}

export class MixedMessages {
  readonly #waiting = new Map<MessageId, Waiting>();
  readonly #hearers = new Set<(message: Envelope) => void>();
  readonly #leftovers: Leftovers;

  constructor(leftovers: Leftovers) {
    this.#leftovers = leftovers;
  }

  /**
   * Waits for the response with this id. The id is free again when that has come, or when the wait failed or
   * was given up; what comes for it after that is a stray.
   *
   * @throws Error when somebody waits for this id already: whoever gives the ids must not repeat them.
   */
  wait(id: MessageId, options: ExchangeOptions | undefined): Promise<Answer> {
    const signal = options?.signal;
    if (this.#waiting.has(id)) throw new Error("a request with this id is in flight already");
    return new Promise<Answer>((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(cancelled());
        return;
      }
      const waiting = new Waiting(resolve, reject, options?.waiter);
      if (signal !== undefined) waiting.watch(signal, () => this.reject(id, cancelled()));
      this.#waiting.set(id, waiting);
    });
  }

  /** Hears everything that is not a response, until the returned function is called. */
  listen(hear: (message: Envelope) => void): () => void {
    // The same function may listen twice, and each stops on its own.
    const hearer = (message: Envelope): void => hear(message);
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  deliver(message: Envelope): void {
    if (isResponse(message)) {
      const waiting = this.#take(message.id);
      if (waiting === undefined) this.#leftovers.onStray?.(message);
      else waiting.resolve({ message, status: 200, header: noHeader });
      return;
    }
    if (this.#hearers.size === 0) this.#leftovers.onStray?.(message);
    for (const hear of this.#hearers) letHear(hear, message, this.#leftovers);
  }

  /** Fails the wait for one response; false when nobody waits for it. */
  reject(id: MessageId, error: GatewayError): boolean {
    const waiting = this.#take(id);
    waiting?.reject(error);
    return waiting !== undefined;
  }

  /** Nothing more will come: fails every wait, once, and forgets who listened. */
  end(error: GatewayError): void {
    for (const id of [...this.#waiting.keys()]) this.reject(id, error);
    this.#hearers.clear();
  }

  /** Ids match in value and in type: "1" is not 1. */
  #take(id: MessageId | undefined): Waiting | undefined {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id as MessageId);
    return waiting;
  }
}

const noHeader = (): undefined => undefined;

function cancelled(): GatewayError {
  return new GatewayError("cancelled", "downstream", "the call was cancelled");
}
