/** The body of an HTTP request as text, whole and within a limit. */
import { isAscii, isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { GatewayError } from "../core/errors.js";
import { LARGE_BYTES, runSteps, type Steps } from "../runtime/cooperative-yield.js";
import { FrameError } from "../wire/envelope.js";
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
    let reading: PendingBody | undefined = { resolve, reject, chunks: [], size: 0 };
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
    const fail = (error: unknown): void => {
      reading?.reject(error);
      reading = undefined;
    };
    const finish = (text: string): void => {
      reading?.resolve(text);
      reading = undefined;
    };
    // Not for good: with a listener that stays, calls of the past outlive the young generation, 10 µs of collecting each.
    request.once("end", () => {
      if (reading === undefined) return;
      const { chunks, size } = reading;
      try {
        if (size < LARGE_BYTES) finish(decoded(joined(chunks)));
        else runSteps(decodedInSteps(chunks)).then(finish, fail);
      } catch (error) {
        fail(error);
      }
    });
    // Node's server gives one to every request that is cut off.
    request.on("error", (cause) => fail(clientGone(cause)));
  });
}

/** @throws FrameError where `body` is not UTF-8: a replacement character would change the text that policy evaluates. */
function decoded(body: Buffer): string {
  if (!isUtf8(body)) throw new FrameError(-32700, "the body is not valid UTF-8");
  return body.toString("utf8");
}

/** The same for a large body. */
function* decodedInSteps(chunks: readonly Buffer[]): Steps<string> {
  yield;
  const body = joined(chunks);
  if (isAscii(body)) return body.toString("latin1");
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

const clientGone = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client went away before its request was read", { cause });
