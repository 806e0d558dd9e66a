/** Keeps the bodies of requests that are being served at the same time within a sum of bytes. */
import type { ServerResponse } from "node:http";
import { GatewayError } from "../core/errors.js";
import { type LoadShedKind, NO_PRESSURE, type Pressure, SHED_LEVELS } from "../core/pressure.js";
import { type Batch, type Envelope, isBatch, isRequest, messagesIn } from "../wire/envelope.js";

/** Limits of the request bodies in memory. */
export interface BodyBudgetOptions {
  /** In bytes. Default 256 MiB. */
  readonly limit?: number;
  readonly pressure?: Pressure;
  readonly onShed?: (what: LoadShedKind) => void;
}

const MIB = 1024 * 1024;
/** Smaller ones are not counted: however many connections there may be, they do not fill the memory. */
const UNCOUNTED_BYTES = 64 * 1024;
const RETRY_AFTER_MS = 1_000;

/** The memory of the request bodies in flight, and load shedding of new calls. */
export class BodyBudget {
  readonly #options: Required<BodyBudgetOptions>;
  #reserved = 0;

  constructor(options: BodyBudgetOptions = {}) {
    this.#options = { limit: 256 * MIB, pressure: NO_PRESSURE, onShed: () => {}, ...options };
  }

  /**
   * Makes room for a body of `bytes` until its response is over; call it before anything is read.
   * @throws GatewayError `overloaded`
   */
  reserve(bytes: number, response: ServerResponse): void {
    if (bytes <= UNCOUNTED_BYTES) return;
    const { limit, pressure } = this.#options;
    if (pressure.level >= SHED_LEVELS.calls) throw this.#overloaded("memory limit reached: no new calls");
    if (this.#reserved + bytes > limit) throw this.#overloaded("too many large requests in flight");
    this.#reserved += bytes;
    response.once("close", () => {
      this.#reserved -= bytes;
    });
  }

  /**
   * Lets through what ends work (answers, cancellations), and what begins some only where there is memory for it.
   * @throws GatewayError `overloaded`
   */
  admit(message: Envelope | Batch): void {
    if (this.#options.pressure.level < SHED_LEVELS.calls) return;
    const messages = isBatch(message) ? messagesIn(message) : [message];
    if (messages.some(isRequest)) throw this.#overloaded("memory limit reached: no new calls");
  }

  #overloaded(sentence: string): GatewayError {
    this.#options.onShed("calls");
    return new GatewayError("overloaded", "gateway", sentence, {
      retryable: true,
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
}
