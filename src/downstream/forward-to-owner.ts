/**
 * Forwards an HTTP request to the process that owns its session, parked call or task: a worker of this machine or another
 * replica. The host was authenticated here; that process gets a signed principal, and of the host's headers those that MCP
 * defines. Credentials travel no further.
 */
import { Agent, type IncomingMessage, type ServerResponse } from "node:http";
import type { Principal } from "../core/client.js";
import { GatewayError, overloaded } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { TASK_METHODS } from "../core/methods.js";
import type { ForwardOutcome, IssuedKind, Owner, Owners } from "../core/owners.js";
import type { Admission } from "../core/replicas.js";
import type { Envelope, MessageId } from "../wire/envelope.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { HEADER } from "../wire/names.js";
import { MESSAGES_PATH } from "./edge.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";
import { OwnerRequest } from "./owner-request.js";

/** Forwards requests to the process that owns their session, call or task. */
export interface Forwarder {
  /**
   * Forwards a request by its session id; undefined where the session is this process's own, or there is none. Resolves to
   * `here` where it turns out only later that this process serves it.
   */
  forwardBySession(exchange: AuthenticatedExchange): Promise<"done" | "here"> | undefined;
  /** The same for a message without a session, by its task or request state. `body`: as it was read. */
  forwardByMessage(
    exchange: AuthenticatedExchange,
    message: Envelope,
    body: string,
  ): Promise<"done" | "here"> | undefined;
  /**
   * Forwards a request that was to be served here, if its session has moved since `forwardBySession`: while its body was read.
   * As `forwardByMessage`; `body`: as it was read, absent if there is none.
   */
  forwardMoved(
    exchange: AuthenticatedExchange,
    body?: string,
    messageId?: MessageId,
  ): Promise<"done" | "here"> | undefined;
  /** Another process of this gateway has forwarded `request`, and signed this. */
  receive(request: IncomingMessage, admission: Admission): void;
  /** The host of a request that another process has forwarded; undefined for one that comes from a host. */
  principalOf(request: IncomingMessage): Principal | undefined;
  /**
   * This process stops: the streams that it forwards for hosts between their calls (GET) end, and the hosts open them again at
   * another process. Requests under way continue.
   */
  endStreams(): void;
  /** Closes the connections to the other processes. */
  close(): void;
}

/** Of a replica that has moved its sessions, to the one that moved them: the second hop is the last. */
const MAX_HOPS = 2;
/** An idle connection to another process is closed after this time (ms), by the side that opened it. */
const IDLE_MS = 10_000;
/** How often an owner that was not there, or closed the connection, is looked up again. */
const MAX_ATTEMPTS = 4;
/** Within this time (ms) an owner takes the connection, TLS included, and one that stops the request too, or cannot be reached. */
const CONNECT_MS = 2_000;
const RETRY_MS = 1_000;
/** A request of a host that was authenticated. */
interface AuthenticatedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
}

interface Forwarding extends AuthenticatedExchange {
  readonly id: string;
  readonly kind: IssuedKind;
  /** As it was read; absent where it still has to be. */
  readonly body: Buffer | undefined;
  readonly messageId?: MessageId | undefined;
}

interface ForwarderOptions {
  /** Default: CONNECT_MS. */
  readonly connectMs?: number;
  /** More headers that travel, in lower case: those that the config carries to servers. */
  readonly headerNames?: () => readonly string[];
  /** What of a message only the process can serve whose feature has issued it. Default: nothing. */
  readonly issuedIn?: (method: string, params: JsonObject) => string | undefined;
}

/** Makes the forwarder of the process that sees `owners`. */
export const createForwarder = (owners: Owners, logger: Logger, options: ForwarderOptions = {}): Forwarder =>
  new OwnersForwarder(owners, logger, options);

class OwnersForwarder implements Forwarder {
  readonly #owners: Owners;
  readonly #logger: Logger;
  readonly #options: Required<ForwarderOptions>;
  readonly #agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  readonly #received = new WeakMap<IncomingMessage, Admission>();
  /** What ends the responses to GET that are forwarded. */
  readonly #streams = new Set<() => void>();
  #isStopping = false;

  constructor(
    owners: Owners,
    logger: Logger,
    { connectMs = CONNECT_MS, headerNames = () => [], issuedIn = () => undefined }: ForwarderOptions,
  ) {
    this.#owners = owners;
    this.#logger = logger;
    this.#options = { connectMs, headerNames, issuedIn };
  }

  receive(request: IncomingMessage, admission: Admission): void {
    this.#received.set(request, admission);
  }

  principalOf(request: IncomingMessage): Principal | undefined {
    return this.#received.get(request)?.principal;
  }

  forwardBySession(exchange: AuthenticatedExchange): Promise<"done" | "here"> | undefined {
    return this.forwardMoved(exchange);
  }

  forwardByMessage(
    { request, response, principal }: AuthenticatedExchange,
    message: Envelope,
    text: string,
  ): Promise<"done" | "here"> | undefined {
    const issued = issuedIn(message) ?? this.#keptIn(message);
    if (issued === undefined || !this.#mayForward(issued.id, request)) return undefined;
    const body = Buffer.from(text);
    return this.#serve({ request, response, principal, ...issued, body, messageId: message.id });
  }

  forwardMoved(
    { request, response, principal }: AuthenticatedExchange,
    text?: string,
    messageId?: MessageId,
  ): Promise<"done" | "here"> | undefined {
    const id = sessionOf(request);
    if (id === undefined || !this.#mayForward(id, request)) return undefined;
    const body = text === undefined ? undefined : Buffer.from(text);
    return this.#serve({ request, response, principal, id, kind: "session", body, messageId });
  }

  endStreams(): void {
    this.#isStopping = true;
    for (const end of this.#streams) end();
  }

  close(): void {
    this.#agent.destroy();
    this.#owners.close();
  }

  #keptIn({ method, params }: Envelope): Pick<Forwarding, "id" | "kind"> | undefined {
    if (params === undefined || method === undefined) return undefined;
    const id = this.#options.issuedIn(method, params);
    return id === undefined ? undefined : { id, kind: "kept" };
  }

  #hopsOf(request: IncomingMessage): number {
    return this.#received.get(request)?.hops ?? 0;
  }

  #mayForward(id: string, request: IncomingMessage): boolean {
    return this.#owners.isForeign(id) && this.#hopsOf(request) < MAX_HOPS;
  }

  async #serve(forwarding: Forwarding): Promise<"done" | "here"> {
    const { response, messageId } = forwarding;
    try {
      return await this.#forwardToOwner(forwarding);
    } catch (error) {
      // A refusal is an answer; anything else is a fault, which no request of a host should cause.
      if (!(error instanceof GatewayError))
        this.#logger.error({ error }, "a request could not be forwarded to its owner");
      sendFailure(response, httpFailure(error), messageId);
      return "done";
    }
  }

  async #forwardToOwner(forwarding: Forwarding): Promise<"done" | "here"> {
    const { id, kind, request, response } = forwarding;
    if (request.method === "GET" && this.#isStopping) throw overloaded("this process stops", RETRY_MS);
    const owners = this.#owners;
    let gone: Owner | undefined;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const located = owners.locate(id, kind, this.#hopsOf(request), gone);
      const owner = located instanceof Promise ? await located : located;
      if (response.destroyed) return "done";
      if (owner === "here") return "here";
      if (owner === "nowhere") throw goneError(kind);
      const startedAt = performance.now();
      const outcome = await this.#forward(owner, forwarding);
      owners.onForwarded?.(outcome, performance.now() - startedAt);
      if (outcome === "answered") return "done";
      // Reading what a process has kept changes nothing: it is read again, until its process answers or is known to be gone.
      if (outcome === "lost" && kind !== "kept") throw lostError(forwarding);
      // Its process may live on, and what is its own is served by no other until it is known to be gone.
      if (outcome === "unreachable") break;
      if (outcome === "absent") gone = owner;
    }
    throw overloaded("the process that serves this cannot be reached at present", RETRY_MS);
  }

  #forward(owner: Owner, { request, response, principal, body }: Forwarding): Promise<ForwardOutcome> {
    const { method = "GET", url: path = "/" } = request;
    const { connectMs, headerNames } = this.#options;
    const { outcome } = new OwnerRequest({
      ...{ owner, request, response, body, connectMs },
      admission: owner.admission(method, path, this.#hopsOf(request) + 1, principal),
      headerNames: headerNames(),
      agent: this.#agent,
      logger: this.#logger,
      onAnswer: (answer) => {
        if (method === "GET") this.#endWhenStopping(answer, response);
      },
    });
    return outcome;
  }

  #endWhenStopping(answer: IncomingMessage, response: ServerResponse): void {
    const end = (): void => {
      answer.unpipe(response);
      response.end();
    };
    this.#streams.add(end);
    response.once("close", () => this.#streams.delete(end));
    if (this.#isStopping) end();
  }
}

/** The session that a request names. */
function sessionOf({ headers, url = "" }: IncomingMessage): string | undefined {
  const session = headers[HEADER.sessionId];
  if (typeof session === "string") return session;
  const [path, query = ""] = url.split("?", 2);
  return path === MESSAGES_PATH ? (new URLSearchParams(query).get("sessionId") ?? undefined) : undefined;
}

/** What a message of a host without a session brings back that only its issuer can use. */
function issuedIn({ method, params }: Envelope): Pick<Forwarding, "id" | "kind"> | undefined {
  if (params === undefined || method === undefined) return undefined;
  const state = stringAt(params, "requestState");
  if (state !== undefined) return { id: state, kind: "state" };
  const task = TASK_METHODS.has(method) ? stringAt(params, "taskId") : undefined;
  return task === undefined ? undefined : { id: task, kind: "task" };
}

/** What was posted may have had an effect; a stream can be opened again, and a session ended again. */
const lostError = ({ request }: Forwarding): GatewayError =>
  request.method === "POST"
    ? new HttpRefusal(502, "outcome_unknown", "the process that served this exited; the outcome is unknown")
    : overloaded("the process that served this exited", RETRY_MS);

/** Sessions end with their process where nothing takes them over; of a parked call the outcome is not known. */
const goneError = (kind: IssuedKind): GatewayError =>
  kind === "session"
    ? new HttpRefusal(
        404,
        "bad_request",
        "there is no such session (any more): send initialize without a session id",
      )
    : new GatewayError(
        "outcome_unknown",
        "gateway",
        "the process that served this exited; the outcome is unknown",
      );
