/** The body of an HTTP request as text: whole, within its limit, and within the memory for all bodies in flight. */
import { isAscii, isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { GatewayError } from "../core/errors.js";
import { type LoadShedKind, NO_PRESSURE, type Pressure, SHED_LEVELS } from "../core/pressure.js";
import { LARGE_BYTES, runSteps, type Steps, scheduleStep } from "../runtime/cooperative-yield.js";
import { type Batch, type Envelope, FrameError, isBatch, isRequest, messagesIn } from "../wire/envelope.js";
import { HttpRefusal } from "./http-errors.js";

/** @throws HttpRefusal 415 unless the request carries JSON, plainly written. */
export function checkContent({ headers }: IncomingMessage): void {
  if (headers["content-type"] === "application/json" && headers["content-encoding"] === undefined) return;
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  const plain = headers["content-encoding"] === undefined || headers["content-encoding"] === "identity";
  // Whatever a form can send reaches us from any page without a question asked before.
  if (type !== "application/json" || !plain) {
    const message = "the content type must be application/json, without a content encoding";
    throw new HttpRefusal(415, "bad_request", message);
  }
}

/**
 * Reads the body. A declared length over the limit is refused before the first byte; without one the bytes are counted as
 * they come, and none is kept beyond the limit. Node discards the rest once the refusal is answered, and its request
 * timeout ends a body that drips.
 *
 * A large body is read one chunk in each turn of the event loop, in steps with all others: fifty uploads at once would
 * otherwise deliver 3 MB in every turn, and all other calls would wait for them.
 *
 * @param limit in bytes
 * @throws GatewayError `too_large`, or `cancelled` when the client disconnected; FrameError when the body is not UTF-8
 */
export function readBody(request: IncomingMessage, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const declared = Number(request.headers["content-length"] ?? 0);
    if (declared > limit) throw tooLarge(limit);
    /** Undefined after the end: the listeners live as long as the request, which an event stream keeps. */
    let reading: PendingBody | undefined = { resolve, reject, bytes: new BodyBytes(declared) };
    const take = (chunk: Buffer): void => {
      if (reading === undefined) return;
      const { bytes } = reading;
      if (bytes.size + chunk.length <= limit) {
        bytes.add(chunk);
        if (bytes.size < LARGE_BYTES) return;
        request.pause();
        scheduleStep(() => request.resume());
        return;
      }
      request.off("data", take);
      request.resume();
      reading.reject(tooLarge(limit));
      reading = undefined;
    };
    request.on("data", take);
    const fail = (error: unknown): void => {
      reading?.reject(error);
      reading = undefined;
    };
    const finish = (text: string): void => {
      reading?.resolve(text);
      reading = undefined;
    };
    // `once`: with a listener that stays, requests of the past outlive the young generation, 10 µs of collecting each.
    request.once("end", () => {
      if (reading === undefined) return;
      const { bytes } = reading;
      try {
        if (bytes.size < LARGE_BYTES) finish(decoded(bytes.joined()));
        else runSteps(decodedInSteps(bytes)).then(finish, fail);
      } catch (error) {
        fail(error);
      }
    });
    // Node emits `error` on every request that is cut off.
    request.on("error", (cause) => fail(clientGone(cause)));
  });
}

/** The received bytes of a body. */
class BodyBytes {
  readonly #declared: number;
  #chunks: Buffer[] = [];
  /** Where a large body of declared length is collected: joining 4 MB at the end would be one long step. */
  #whole: Buffer | undefined;
  size = 0;

  constructor(declared: number) {
    this.#declared = declared;
  }

  add(chunk: Buffer): void {
    if (this.#whole !== undefined) chunk.copy(this.#whole, this.size);
    else this.#chunks.push(chunk);
    this.size += chunk.length;
    if (this.#whole !== undefined || this.size < LARGE_BYTES || this.size >= this.#declared) return;
    this.#whole = Buffer.allocUnsafeSlow(this.#declared);
    let at = 0;
    for (const each of this.#chunks) at += each.copy(this.#whole, at);
    this.#chunks = [];
  }

  /** All bytes. Most bodies come in one chunk, which needs no copy. */
  joined(): Buffer {
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.size);
    const [first] = this.#chunks;
    return first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
  }
}

/** @throws FrameError where `body` is not UTF-8: a replacement character would change the text that policy evaluates. */
function decoded(body: Buffer): string {
  if (!isUtf8(body)) throw new FrameError(-32700, "the body is not valid UTF-8");
  return body.toString("utf8");
}

/** The same for a large body. */
function* decodedInSteps(bytes: BodyBytes): Steps<string> {
  yield;
  const body = bytes.joined();
  if (isAscii(body)) {
    yield;
    return body.toString("latin1");
  }
  if (!isUtf8(body)) return decoded(body);
  const decoder = new StringDecoder("utf8");
  const pieces: string[] = [];
  for (let at = 0; at < body.length; at += LARGE_BYTES) {
    yield;
    pieces.push(decoder.write(body.subarray(at, at + LARGE_BYTES)));
  }
  return pieces.join("");
}

interface PendingBody {
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
  readonly bytes: BodyBytes;
}

const tooLarge = (limit: number): GatewayError =>
  new GatewayError("too_large", "downstream", `the body is larger than ${limit} bytes`);

const clientGone = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client disconnected before its request was read", {
    cause,
  });

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
