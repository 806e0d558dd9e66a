/** Requests that wait for their responses on a connection where all messages come mixed. */
import { GatewayError } from "../../core/errors.js";
import type { Envelope, MessageId } from "../../wire/envelope.js";
import type { Answer } from "./channel.js";

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: GatewayError): void;
  forget(): void;
}

export class PendingExchanges {
  readonly #waiting = new Map<MessageId, Waiting>();

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for the response with this id; the id is free again when that has come, when the wait was given up
   * or when it failed.
   *
   * @throws Error when somebody waits for this id already: whoever gives the ids must not repeat them.
   */
  open(id: MessageId, signal: AbortSignal | undefined): Promise<Answer> {
    if (this.#waiting.has(id)) throw new Error("a request with this id is in flight already");
    return new Promise<Answer>((resolve, reject) => {
      if (signal?.aborted) {
        reject(cancelled());
        return;
      }
      const giveUp = (): void => void this.reject(id, cancelled());
      signal?.addEventListener("abort", giveUp);
      this.#waiting.set(id, {
        resolve,
        reject,
        forget: () => signal?.removeEventListener("abort", giveUp),
      });
    });
  }

  /** False when nobody waits for this response (any more); ids match in value and in type. */
  settle(message: Envelope): boolean {
    const waiting = this.#take(message.id);
    waiting?.resolve({ message, status: 200, header: () => undefined });
    return waiting !== undefined;
  }

  reject(id: MessageId, error: GatewayError): boolean {
    const waiting = this.#take(id);
    waiting?.reject(error);
    return waiting !== undefined;
  }

  rejectAll(error: GatewayError): void {
    for (const id of [...this.#waiting.keys()]) this.reject(id, error);
  }

  #take(id: MessageId | undefined): Waiting | undefined {
    if (id === undefined) return undefined;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    waiting.forget();
    return waiting;
  }
}

function cancelled(): GatewayError {
  return new GatewayError("cancelled", "downstream", "the call was cancelled");
}
