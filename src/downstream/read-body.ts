/** The body of an HTTP request as text, whole and within a limit. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../core/errors.js";
import { LARGE_BYTES, myTurn } from "../core/large-work.js";
import { FrameError } from "../wire/envelope.js";

/**
 * Reads the body. What goes over the limit is not kept: the declared length is believed before the first byte,
 * and without one the bytes are counted as they come. Node discards the rest once the refusal is answered, and
 * its request time-out ends a body that drips.
 *
 * @param limit the most bytes taken
 * @throws GatewayError `too_large`, or `cancelled` when the client went away; FrameError when it is no UTF-8
 */
export function readBody(request: IncomingMessage, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
    /**
     * Undefined when it is over: what listens stays as long as the request, which an event stream keeps, and would
     * keep the body.
     */
    let reading: Reading | undefined = { resolve, reject, chunks: [], size: 0 };
    const take = (chunk: Buffer): void => {
      if (reading === undefined) return;
      reading.size += chunk.length;
      if (reading.size <= limit) {
        reading.chunks.push(chunk);
        return;
      }
      request.off("data", take);
      request.resume();
      reading.reject(tooLarge(limit));
      reading = undefined;
    };
    request.on("data", take);
    const finish = (): void => {
      if (reading === undefined) return;
      const body = joined(reading.chunks);
      // A replacement character would let policy judge another text than the one that was sent.
      if (isUtf8(body)) reading.resolve(body.toString("utf8"));
      else reading.reject(new FrameError(-32700, "the body is not valid UTF-8"));
      reading = undefined;
    };
    const fail = (error: unknown): void => {
      reading?.reject(error);
      reading = undefined;
    };
    // Not for good: with a listener that stays, calls of the past outlive the young generation, 10 µs of collecting each.
    request.once("end", () => {
      if (reading === undefined || reading.size < LARGE_BYTES) finish();
      else myTurn().then(finish).catch(fail);
    });
    // Node's server gives one to every request that is cut off.
    request.on("error", (cause) => fail(gone(cause)));
  });
}

interface Reading {
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
  readonly chunks: Buffer[];
  size: number;
}

/** Most bodies come in one piece, which needs no copy. */
const joined = (chunks: readonly Buffer[]): Buffer => {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
};

const tooLarge = (limit: number): GatewayError =>
  new GatewayError("too_large", "downstream", `the body is larger than ${limit} bytes`);

const gone = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client went away before its request was read", { cause });
