/**
 * One HTTP request to a server: dispatched straight on the pool (no fetch, no streams), redirected only within
 * its origin, never decompressed, and abortable at any moment.
 */

import type { Dispatcher } from "undici";
import { batchCompletion } from "./batched-completions.js";
import type { Headers } from "./channel.js";
import type { HttpConnection, PooledRequest } from "./http-connections.js";
import type { HttpTarget } from "./http-target.js";
import { headerOf, type ResponseHeaders } from "./response-headers.js";

export interface OutgoingRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Headers;
  readonly body?: string;
  /** Default: the target's own path. */
  readonly path?: string;
}

/** What comes back. After `end` or `fail`, and after `abort` was called, nothing more comes. */
export interface HttpReceiver {
  head(status: number, headers: ResponseHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  /** `sent` is false when nothing of the request can have reached the server. */
  fail(error: Error, sent: boolean): void;
}

/** A body of so many characters is not kept while its answer is waited for. */
const LARGE_BYTES = 65_536;
const MAX_REDIRECTS = 3;
const aborted = new Error("the request was given up");

export class HttpRequest implements PooledRequest {
  /** The one that it uses, until undici has told its end. */
  connection: HttpConnection | undefined;
  readonly #target: HttpTarget;
  #outgoing: OutgoingRequest;
  readonly #receiver: HttpReceiver;
  #controller: Dispatcher.DispatchController | undefined;
  /** Handed to the pool, without a connection so far. */
  #waiting = false;
  #done = false;
  #sent = false;
  #redirects = 0;
  #redirectTo: string | undefined;

  constructor(target: HttpTarget, outgoing: OutgoingRequest, receiver: HttpReceiver) {
    this.#target = target;
    this.#outgoing = outgoing;
    this.#receiver = receiver;
    this.#dispatch(outgoing.path ?? target.path);
  }

  get isDone(): boolean {
    return this.#done;
  }

  /** Closes the connection if the request was sent, and forgets it if it still waits for one. */
  abort(): void {
    if (this.#done) return;
    this.#done = true;
    this.#settled();
    this.#controller?.abort(aborted);
  }

  #dispatch(path: string): void {
    const { method, headers, body } = this.#outgoing;
    this.#waiting = true;
    if (body === undefined || body.length < LARGE_BYTES) {
      this.#target.pool.dispatch({ method, path, headers, body: body ?? null }, this);
      return;
    }
    // undici holds on to a body until the answer is there, which may be a person's; of this one only to the wrapper.
    const once = new SingleUseBody(Buffer.from(body));
    const length = String(once.length);
    this.#target.pool.dispatch(
      { method, path, headers: { ...headers, "content-length": length }, body: once as never },
      this,
    );
  }

  #settled(): void {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#target.pool.settled();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#done) {
      controller.abort(aborted);
      return;
    }
    this.#settled();
    this.#controller = controller;
    this.#sent = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.#done || status < 200) return;
    if (status === 307 || status === 308) {
      this.#redirectTo = this.#pathOfRedirect(status, headerOf(headers, "location"));
      if (this.#redirectTo !== undefined) return;
    }
    const encoding = headerOf(headers, "content-encoding");
    if (encoding !== undefined && encoding !== "" && encoding !== "identity") {
      // It was asked not to. A small compressed body may stand for any amount of text, so nothing is inflated.
      this.fail(new Error(`it compressed its response (${encoding}) although asked not to`));
      this.#controller?.abort(aborted);
      return;
    }
    // It will not be sent again, wherever it may be that the answer waits for.
    if (this.#outgoing.body !== undefined && this.#outgoing.body.length >= LARGE_BYTES)
      this.#outgoing = { ...this.#outgoing, body: "" };
    this.#receiver.head(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#done && this.#redirectTo === undefined) this.#receiver.data(chunk);
  }

  onResponseEnd(): void {
    this.#releaseConnection();
    if (this.#done) return;
    const path = this.#redirectTo;
    if (path === undefined) {
      batchCompletion(this);
      return;
    }
    this.#redirectTo = undefined;
    this.#controller = undefined;
    this.#dispatch(path);
  }

  /** Called in `batchCompletion`. */
  end(): void {
    if (this.#done) return;
    this.#done = true;
    try {
      this.#receiver.end();
    } catch (error) {
      this.#receiver.fail(error as Error, true);
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#releaseConnection();
    this.fail(error);
  }

  #releaseConnection(): void {
    const { connection } = this;
    this.connection = undefined;
    connection?.release();
  }

  fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#settled();
    this.#receiver.fail(error, this.#sent);
  }

  /**
   * Where to send it instead, or `undefined` when it may not go there: to another origin neither credentials
   * nor arguments follow.
   */
  #pathOfRedirect(status: number, location: string | undefined): string | undefined {
    if (location === undefined || !URL.canParse(location, this.#target.url.href)) return undefined;
    const { origin, pathname, search } = new URL(location, this.#target.url);
    if (origin !== this.#target.url.origin || ++this.#redirects > MAX_REDIRECTS) return undefined;
    const path = pathname + search;
    // A slash at the end is what most temporary redirects are about, and they are as permanent as the others.
    const own = this.#outgoing.path === undefined;
    if (own && (status === 308 || withoutSlash(path) === withoutSlash(this.#target.path)))
      this.#target.path = path;
    return path;
  }
}

const withoutSlash = (path: string): string => (path.endsWith("/") ? path.slice(0, -1) : path);

/** A body that is there once, and gone when it was read. */
class SingleUseBody implements AsyncIterableIterator<Buffer> {
  readonly length: number;
  #bytes: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.length = bytes.length;
    this.#bytes = bytes;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Buffer>> {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return Promise.resolve(
      bytes === undefined ? { done: true, value: undefined } : { done: false, value: bytes },
    );
  }
}
