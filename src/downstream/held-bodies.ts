/** Keeps the bodies of requests that are being served at the same time within a sum of bytes. */
import type { ServerResponse } from "node:http";
import { GatewayError } from "../core/errors.js";
import { NO_PRESSURE, type Pressure, SHEDS, type Shed } from "../core/pressure.js";
import { type Batch, type Envelope, isBatch, isRequest, messagesIn } from "../wire/envelope.js";

export interface HeldBodiesOptions {
  /** In bytes. Default 256 MiB. */
  readonly limit?: number;
  readonly pressure?: Pressure;
  readonly shed?: (what: Shed) => void;
}

const MIB = 1024 * 1024;
/** Smaller ones are not counted: however many connections there may be, they do not fill the memory. */
const SMALL = 64 * 1024;
const LATER_MS = 1_000;

export class HeldBodies {
  readonly #options: Required<HeldBodiesOptions>;
  #held = 0;

  constructor(options: HeldBodiesOptions = {}) {
    this.#options = { limit: 256 * MIB, pressure: NO_PRESSURE, shed: () => {}, ...options };
  }

  /**
   * Makes room for a body of `bytes` until its response is over; call it before anything is read.
   * @throws GatewayError `overloaded`
   */
  hold(bytes: number, response: ServerResponse): void {
    if (bytes <= SMALL) return;
    const { limit, pressure } = this.#options;
    if (pressure.level >= SHEDS.calls) throw this.#refused("the gateway is short of memory: no new calls");
    if (this.#held + bytes > limit) throw this.#refused("too many large requests are under way");
    this.#held += bytes;
    response.once("close", () => {
      this.#held -= bytes;
    });
  }

  /**
   * Lets through what ends work (answers, cancellations), and what begins some only where there is memory for it.
   * @throws GatewayError `overloaded`
   */
  admit(message: Envelope | Batch): void {
    if (this.#options.pressure.level < SHEDS.calls) return;
    const messages = isBatch(message) ? messagesIn(message) : [message];
    if (messages.some(isRequest)) throw this.#refused("the gateway is short of memory: no new calls");
  }

  #refused(sentence: string): GatewayError {
    this.#options.shed("calls");
    return new GatewayError("overloaded", "gateway", sentence, { retryable: true, retryAfterMs: LATER_MS });
  }
}
