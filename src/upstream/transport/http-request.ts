/**
 * One HTTP request to a server: dispatched straight on the pool (no fetch, no streams), redirected only within
 * its origin, never decompressed, and abortable at any moment.
 */
import type { Dispatcher } from "undici";
import type { Headers } from "./channel.js";
import type { HttpTarget } from "./http-target.js";
import type { ResponseHeaders } from "./response-headers.js";

export interface Outgoing {
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

const MAX_REDIRECTS = 3;
const aborted = new Error("the request was given up");

export class HttpRequest implements Dispatcher.DispatchHandler {
  readonly #target: HttpTarget;
  readonly #outgoing: Outgoing;
  readonly #receiver: HttpReceiver;
  #controller: Dispatcher.DispatchController | undefined;
  /** Handed to the pool, without a connection so far. */
  #waiting = false;
  #done = false;
  #sent = false;
  #redirects = 0;
  #redirectTo: string | undefined;

  constructor(target: HttpTarget, outgoing: Outgoing, receiver: HttpReceiver) {
    this.#target = target;
    this.#outgoing = outgoing;
    this.#receiver = receiver;
    this.#dispatch(outgoing.path ?? target.path);
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
    this.#target.pool.dispatch({ method, path, headers, body: body ?? null }, this);
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

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.#done || status < 200) return;
    if (status === 307 || status === 308) {
      this.#redirectTo = this.#pathOfRedirect(status, headers.location);
      if (this.#redirectTo !== undefined) return;
    }
    const encoding = headers["content-encoding"];
    if (encoding !== undefined && encoding !== "" && encoding !== "identity") {
      // It was asked not to. A small compressed body may stand for any amount of text, so nothing is inflated.
      this.#fail(new Error(`it compressed its response (${String(encoding)}) although asked not to`));
      controller.abort(aborted);
      return;
    }
    this.#receiver.head(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#done && this.#redirectTo === undefined) this.#receiver.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#done) return;
    const path = this.#redirectTo;
    if (path === undefined) {
      this.#done = true;
      this.#receiver.end();
      return;
    }
    this.#redirectTo = undefined;
    this.#controller = undefined;
    this.#dispatch(path);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#settled();
    this.#receiver.fail(error, this.#sent);
  }

  /**
   * Where to send it instead, or `undefined` when it may not go there: to another origin neither credentials
   * nor arguments follow.
   */
  #pathOfRedirect(status: number, location: string | string[] | undefined): string | undefined {
    if (typeof location !== "string" || !URL.canParse(location, this.#target.url.href)) return undefined;
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
