/**
 * How is one HTTP request sent, and what is read of its response's head? It is dispatched on the pool without fetch or
 * streams, redirected only within its origin; responses that end together are handed on together.
 */
import type { Dispatcher } from "undici";
import type { GatewayError } from "../../core/errors.js";
import { scheduleStep } from "../../runtime/cooperative-yield.js";
import { Decompression, encodingsIn } from "../../runtime/decompression.js";
import type { Headers } from "./channel.js";
import type { HttpConnection, PooledRequest } from "./http-pool.js";
import type { HttpTarget } from "./http-target.js";
import { headerOf, type ResponseHeaders } from "./message-bodies.js";
import { type ChannelCredentials, RequestAuthorization } from "./request-authorization.js";
import { SingleUseBody } from "./single-use-body.js";

/** The methods of requests; MCP itself uses POST, GET and DELETE. */
export type HttpMethod = "POST" | "GET" | "DELETE" | "PUT" | "PATCH" | "HEAD" | "OPTIONS";

/** A request before it is sent. */
export interface OutgoingRequest {
  readonly method: HttpMethod;
  readonly headers: Headers;
  readonly body?: string | Buffer;
  /** Default: the target's path. */
  readonly path?: string;
}

/** Receives a response. No method is called after `end`, `fail` or `abort`. */
export interface HttpReceiver {
  head(status: number, headers: ResponseHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  /** `sent` is false when no byte of the request can have reached the server. */
  fail(error: Error, sent: boolean): void;
}

/** A body from this length (characters) is not kept in memory while its response is awaited. */
const LARGE_BYTES = 65_536;
/**
 * After this many bytes of a response no more are read before the next turn of the event loop, in steps with all other large
 * messages: twenty responses would otherwise deliver 40 MiB in each turn, and all small calls would wait for them.
 */
const BYTES_PER_STEP = 2 * 1024 * 1024;
/** A response that takes this time (ms) for BYTES_PER_STEP needs no step: an event stream that is open for hours. */
const CALM_MS = 8_000;
const MAX_REDIRECTS = 3;
const aborted = new Error("the request was aborted");

/** One HTTP request, sent by its constructor. */
export class HttpRequest implements PooledRequest {
  /** Its connection until undici reports its end. */
  connection: HttpConnection | undefined;
  readonly #target: HttpTarget;
  #outgoing: OutgoingRequest;
  readonly #receiver: HttpReceiver;
  #controller: Dispatcher.DispatchController | undefined;
  /** Undefined where the response is not compressed. */
  #decompression: Decompression | undefined;
  /** Why the connection ended before the response. */
  #lost: Error | undefined;
  /** Dispatched on the pool, without a connection. */
  #waiting = false;
  #done = false;
  #sent = false;
  /** Bytes of the response since `#countedSince`. */
  #received = 0;
  /** The last step, or the head of the response, by the monotonic clock. */
  #countedSince = 0;
  /** Whether the response waits for its next step. */
  #awaitsStep = false;
  /** Whether the receiver has paused the response. */
  #isPaused = false;
  #redirects = 0;
  #redirectTo: string | undefined;
  readonly #credentials: ChannelCredentials | undefined;
  /** Made when the request needs it: with credentials in use, or when the response refuses a request without. */
  #authorization: RequestAuthorization | undefined;
  #path: string;

  /** `credentials`: undefined where the channel has none. */
  constructor(
    target: HttpTarget,
    outgoing: OutgoingRequest,
    receiver: HttpReceiver,
    credentials = target.credentials,
  ) {
    this.#target = target;
    this.#credentials = credentials;
    this.#outgoing = outgoing;
    this.#receiver = receiver;
    this.#path = outgoing.path ?? target.path;
    if (credentials?.areUsed === true) this.#authorization = new RequestAuthorization(credentials);
    const obtained = this.#authorization?.obtain();
    if (obtained === undefined) this.#dispatch();
    else this.#dispatchWhen(obtained, () => this.#dispatch());
  }

  /** Whether a byte of the request can have reached the server. */
  get isSent(): boolean {
    return this.#sent;
  }

  get isDone(): boolean {
    return this.#done;
  }

  /** Closes the connection if the request was sent, else drops it from the queue. */
  abort(): void {
    if (this.#done) return;
    this.#done = true;
    this.#settled();
    this.#authorization?.abandon();
    this.#decompression?.destroy();
    this.#controller?.abort(aborted);
  }

  /** Reads nothing more of the response until `resume`. */
  pause(): void {
    if (this.#decompression !== undefined) {
      this.#decompression.pause();
      return;
    }
    this.#isPaused = true;
    this.#controller?.pause();
  }

  resume(): void {
    if (this.#done) return;
    if (this.#decompression !== undefined) {
      this.#decompression.resume();
      return;
    }
    this.#isPaused = false;
    this.#readOn();
  }

  #readOn(): void {
    if (!this.#done && !this.#isPaused && !this.#awaitsStep) this.#controller?.resume();
  }

  #awaitStepUnlessCalm(): void {
    const now = performance.now();
    const isCalm = now - this.#countedSince >= CALM_MS;
    this.#received = 0;
    this.#countedSince = now;
    if (isCalm) return;
    this.#awaitsStep = true;
    this.#controller?.pause();
    scheduleStep(() => {
      this.#awaitsStep = false;
      this.#readOn();
    });
  }

  /** Sends the request when its header is there, fails it for an error, and calls `without` where it has no header. */
  #dispatchWhen(obtained: Promise<string | GatewayError | undefined>, without: () => void): void {
    obtained
      .then((header) => {
        if (this.#done) return;
        if (typeof header === "string") this.#dispatch();
        else if (header === undefined) without();
        else this.fail(header);
      })
      .catch((error: unknown) => this.fail(error as Error));
  }

  /** The response that refused the request is its answer. Of a compressed body nothing is read. */
  #deliverRefusal(): void {
    const { headers = {}, body = NO_BODY } = this.#authorization?.response ?? {};
    const isPlain = encodingsIn(headerOf(headers, "content-encoding")) === undefined;
    this.#receiver.head(401, headers);
    if (isPlain && body.length > 0) this.#receiver.data(body);
    this.end();
  }

  #dispatch(): void {
    const { method, body } = this.#outgoing;
    const path = this.#path;
    const authorization = this.#authorization?.header;
    const headers =
      authorization === undefined
        ? this.#outgoing.headers
        : this.#target.withAuthorization(this.#outgoing.headers, authorization);
    this.#waiting = true;
    if (body === undefined || body.length < LARGE_BYTES) {
      this.#target.pool.dispatch({ method, path, headers, body: body ?? null }, this);
      return;
    }
    // undici keeps a body until its response, which may await a person; here it keeps only the empty wrapper.
    const once = new SingleUseBody(typeof body === "string" ? Buffer.from(body) : body);
    const length = String(once.length);
    this.#target.pool.dispatch(
      { method, path, headers: { ...headers, "content-length": length }, body: once as never },
      this,
    );
  }

  /** Whether the response refuses the credentials, or that there were none. */
  #isRefusedBy(status: number, headers: ResponseHeaders): boolean {
    if (this.#credentials === undefined) return false;
    this.#authorization ??= new RequestAuthorization(this.#credentials);
    return this.#authorization.refuses(status, headers);
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
    if ((status === 401 || status === 403) && this.#isRefusedBy(status, headers)) return;
    if (status === 307 || status === 308) {
      this.#redirectTo = this.#pathOfRedirect(status, headerOf(headers, "location"));
      if (this.#redirectTo !== undefined) return;
    }
    // The request had `accept-encoding: identity`, which some servers ignore.
    const encodings = encodingsIn(headerOf(headers, "content-encoding"));
    if (encodings !== undefined) this.#decompress(encodings, status);
    // No redirect can follow, so the body is not sent again.
    if (this.#outgoing.body !== undefined && this.#outgoing.body.length >= LARGE_BYTES)
      this.#outgoing = { ...this.#outgoing, body: "" };
    this.#countedSince = performance.now();
    this.#receiver.head(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done || this.#redirectTo !== undefined) return;
    this.#received += chunk.length;
    if (this.#received >= BYTES_PER_STEP && !this.#awaitsStep) this.#awaitStepUnlessCalm();
    if (this.#authorization?.isRefused === true) this.#authorization.keep(chunk);
    else if (this.#decompression === undefined) this.#receiver.data(chunk);
    else this.#decompression.write(chunk);
  }

  #decompress(encodings: readonly string[], status: number): void {
    this.#decompression = new Decompression(encodings, {
      data: (chunk) => {
        if (this.#done) return;
        try {
          this.#receiver.data(chunk);
        } catch (error) {
          this.#failAndAbort(error as Error);
        }
      },
      end: () => (this.#lost === undefined ? batchCompletion(this) : this.fail(this.#lost)),
      fail: (error) => {
        // The status of an error is the answer, whatever its body is.
        if (status < 300 || this.#lost !== undefined) return this.#failAndAbort(this.#lost ?? error);
        this.end();
        this.#controller?.abort(aborted);
      },
      pause: () => this.#controller?.pause(),
      resume: () => this.#controller?.resume(),
    });
  }

  #failAndAbort(error: Error): void {
    this.fail(error);
    this.#controller?.abort(aborted);
  }

  onResponseEnd(): void {
    this.#releaseConnection();
    if (this.#done) return;
    const path = this.#redirectTo;
    if (this.#authorization?.isRefused === true) {
      this.#controller = undefined;
      this.#dispatchWhen(this.#authorization.renew(), () => this.#deliverRefusal());
    } else if (path === undefined && this.#decompression === undefined) {
      batchCompletion(this);
    } else if (path === undefined) {
      // The connection may serve another request while the last bytes are inflated.
      this.#controller = undefined;
      this.#decompression?.end();
    } else {
      this.#redirectTo = undefined;
      this.#controller = undefined;
      this.#path = path;
      this.#dispatch();
    }
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
    if (this.#done || this.#decompression === undefined) {
      this.fail(error);
      return;
    }
    // What has arrived is delivered first.
    this.#lost = error;
    this.#controller = undefined;
    this.#decompression.end();
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
    this.#decompression?.destroy();
    this.#receiver.fail(error, this.#sent);
  }

  /**
   * The path of a redirect, or `undefined` when it leads to another origin, which must get neither credentials nor
   * arguments.
   */
  #pathOfRedirect(status: number, location: string | undefined): string | undefined {
    if (location === undefined || !URL.canParse(location, this.#target.url.href)) return undefined;
    const { origin, pathname, search } = new URL(location, this.#target.url);
    if (origin !== this.#target.url.origin || ++this.#redirects > MAX_REDIRECTS) return undefined;
    const path = pathname + search;
    // A redirect that only adds or removes a trailing slash is permanent in practice, with 307 too.
    const own = this.#outgoing.path === undefined;
    if (own && (status === 308 || withoutSlash(path) === withoutSlash(this.#target.path)))
      this.#target.path = path;
    return path;
  }
}

const NO_BODY = Buffer.alloc(0);

const withoutSlash = (path: string): string => (path.endsWith("/") ? path.slice(0, -1) : path);

/** A response whose end is to be handed on. */
interface Completion {
  /** Must not throw. */
  end(): void;
}

/**
 * The most in one batch; further ones are handed on at once. Objects of a whole batch are alive at the same time: without
 * a limit, 500 sessions took 17 MiB more. Under that load the readers of the responses are awake anyway.
 */
const MAX_BATCH = 16;

/** Not yet handed on, in order of arrival. Module-wide on purpose: a batch belongs to one event loop iteration, which gateways share. */
let waiting: Completion[] = [];

/**
 * Calls `end` in the check phase of this event loop iteration. Responses to hosts are then written together and not between
 * two reads, so a host process is woken once: 3 to 4 µs a call. undici schedules the same `setImmediate` phase, so no
 * iteration is added.
 */
export function batchCompletion(ending: Completion): void {
  if (waiting.length >= MAX_BATCH) ending.end();
  else if (waiting.push(ending) === 1) setImmediate(flush);
}

function flush(): void {
  const ending = waiting;
  waiting = [];
  for (const each of ending) each.end();
}
