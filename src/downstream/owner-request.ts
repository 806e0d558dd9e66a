/** How is one request of a host written to the process that owns it, and what became of it? */
import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as openHttp,
  type RequestOptions,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";
import type { ForwardOutcome, Owner } from "../core/owners.js";
import { HEADER } from "../wire/names.js";
import { forwardedHeaders, returnedHeaders } from "./forwarded-headers.js";

/** Nothing listens at the address, or another process: its own has ended. Whatever else goes wrong may be the network between. */
const ABSENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOENT", "EREPLACED"]);
/** The connection was closed before it had proven itself, as by a process that stops. */
const CLOSED: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE"]);

/** What is written to whom, and who reads the response. */
export interface OwnerRequestSettings {
  readonly owner: Owner;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** As it was read; undefined where it still has to be. */
  readonly body: Buffer | undefined;
  /** Headers by which the owner takes it, names and values by turns. */
  readonly admission: readonly string[];
  /** More headers that travel, in lower case. */
  readonly headerNames: readonly string[];
  /** Within this time (ms) the owner takes the connection, TLS included, and one that stops the request too. */
  readonly connectMs: number;
  /** For sockets of this machine. */
  readonly agent: Agent;
  readonly logger: Logger;
  /** Called with each response that is being passed on. */
  readonly onAnswer: (answer: IncomingMessage) => void;
}

/** One attempt. */
export class OwnerRequest {
  /** What became of it; never rejects. */
  readonly outcome: Promise<ForwardOutcome>;
  readonly #settings: OwnerRequestSettings;
  readonly #forwarded: ClientRequest;
  readonly #slow: NodeJS.Timeout;
  #resolve!: (outcome: ForwardOutcome) => void;
  #isConnected = false;
  #isTaken = false;

  constructor(settings: OwnerRequestSettings) {
    this.#settings = settings;
    const { owner, request, response, body, admission, headerNames, connectMs } = settings;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const { method = "GET", url: path = "/" } = request;
    // A process that stops closes its idle connections, perhaps in the moment in which a request is written to one.
    const mustAsk = owner.isLeaving === true && method === "POST";
    this.#forwarded = this.#open({
      method,
      path,
      headers: [
        ...["host", "cardea"],
        ...forwardedHeaders(request.rawHeaders, body === undefined, headerNames),
        ...(body === undefined ? [] : ["content-length", String(body.length)]),
        ...admission,
        ...(mustAsk ? ["expect", "100-continue"] : []),
      ],
      setHost: false,
    });
    this.#slow = setTimeout(() => {
      if (!this.#isTaken) this.#forwarded.destroy(new Error(`no connection within ${connectMs} ms`));
    }, connectMs);
    this.#forwarded.once("response", (answer) => this.#onAnswer(answer));
    this.#forwarded.once("close", () => clearTimeout(this.#slow));
    this.#forwarded.once("error", (error: NodeJS.ErrnoException) => this.#onError(error));
    // The host has hung up, or has everything; a request that is over cannot be ended again.
    response.once("close", () => this.#forwarded.destroy());
    // Nothing is sent before the owner has taken the connection: what it has not seen may be served by another one.
    this.#forwarded.once("socket", (socket) => this.#onSocket(socket, mustAsk));
  }

  #open(options: RequestOptions): ClientRequest {
    const { owner, agent } = this.#settings;
    const { address } = owner;
    if ("socketPath" in address) return openHttp({ ...options, socketPath: address.socketPath, agent });
    const { hostname, port } = address.url;
    const at = { ...options, host: hostname.replace(/^\[|\]$/g, ""), ...(port !== "" && { port }) };
    return openHttp({ ...at, agent: address.agent });
  }

  #onSocket(socket: Socket, mustAsk: boolean): void {
    if (socket.destroyed) return;
    const onConnected = (): void => {
      this.#isConnected = true;
      if (mustAsk) this.#forwarded.once("continue", () => this.#send());
      else this.#send();
    };
    if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", onConnected);
    else onConnected();
  }

  #send(): void {
    const { request, body } = this.#settings;
    this.#isTaken = true;
    clearTimeout(this.#slow);
    if (body !== undefined) {
      this.#forwarded.end(body);
      return;
    }
    // A connection whose request has begun is not closed as an idle one when the owner stops.
    this.#forwarded.flushHeaders();
    request.pipe(this.#forwarded);
  }

  #onAnswer(answer: IncomingMessage): void {
    const { owner, response, logger, onAnswer } = this.#settings;
    if (isRefusal(answer)) {
      const sentence = "the owner refuses requests of this process";
      logger.warn({ to: owner.name, refused: answer.headers[HEADER.peer] }, sentence);
      answer.resume();
      this.#resolve("unreachable");
      return;
    }
    const framed = answer.headers["content-length"] !== undefined;
    const headers = returnedHeaders(answer.rawHeaders, framed);
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
    // The first event of a stream may be long in coming.
    if (!framed) response.flushHeaders();
    // An owner that is lost in the middle of an answer leaves half of one, and the host must see that.
    answer.once("error", () => response.destroy());
    answer.pipe(response);
    onAnswer(answer);
    this.#resolve("answered");
  }

  #onError(error: NodeJS.ErrnoException): void {
    const { owner, response, logger } = this.#settings;
    if (response.destroyed || response.headersSent) response.destroy();
    else logger.warn({ to: owner.name, error }, "a request could not be forwarded to its owner");
    this.#resolve(this.#failure(error));
  }

  #failure({ code }: NodeJS.ErrnoException): ForwardOutcome {
    if (this.#isTaken) return "lost";
    if (this.#isConnected || CLOSED.has(code)) return "closed";
    return ABSENT.has(code) ? "absent" : "unreachable";
  }
}

/** Whether the owner's listener for replicas refused the request unread: nothing of that is for the host. */
const isRefusal = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 403 && headers[HEADER.peer] !== undefined;
