/**
 * Forwards an HTTP request to the process that owns its session, parked call or task: a worker of this machine or another
 * replica. The host was authenticated here; that process gets a signed principal, and of the host's headers those that MCP
 * defines. Credentials travel no further.
 */
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as openHttp,
  type RequestOptions,
  type ServerResponse,
} from "node:http";
import type { Principal } from "../core/client.js";
import type { Admission } from "../core/cluster.js";
import { GatewayError, overloaded } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { TASK_METHODS } from "../core/methods.js";
import type { ForwardOutcome, IssuedKind, Owner, Owners } from "../core/owners.js";
import type { Envelope, MessageId } from "../wire/envelope.js";
import { stringAt } from "../wire/json.js";
import { HEADER } from "../wire/names.js";
import { MESSAGES_PATH } from "./edge.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";

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
/** Nothing listens at the address, or another process: its own has ended. Whatever else goes wrong may be the network between. */
const ABSENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOENT", "EREPLACED"]);
/** The connection was closed before it had proven itself, as by a process that stops. */
const CLOSED: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE"]);

/** Headers of a response that are true of one connection and not of the next (RFC 9110, 7.6.1), or only between processes. */
const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set(["connection", "keep-alive", HEADER.peer]);
const FRAMING_NAMES = ["transfer-encoding", "content-length"] as const;
const FRAMING_HEADERS: ReadonlySet<string> = new Set([...HOP_BY_HOP_HEADERS, ...FRAMING_NAMES]);
/** What of a host's request the owner reads; nothing else travels, so no credential, cookie or address does. */
const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "content-encoding", "traceparent", "tracestate"],
  ...[HEADER.sessionId, HEADER.protocolVersion, HEADER.method, HEADER.name, HEADER.lastEventId],
]);

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
  readonly body?: Buffer;
  readonly messageId?: MessageId | undefined;
}

interface ForwarderOptions {
  /** Default: CONNECT_MS. */
  readonly connectMs?: number;
  /** More headers that travel, in lower case: those that the config carries to servers. */
  readonly headerNames?: () => readonly string[];
}

/** Makes the forwarder of the process that sees `owners`. */
export function createForwarder(
  owners: Owners,
  logger: Logger,
  { connectMs = CONNECT_MS, headerNames = () => [] }: ForwarderOptions = {},
): Forwarder {
  /** For sockets of this machine. */
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  const received = new WeakMap<IncomingMessage, Admission>();
  /** What ends the responses to GET that are forwarded. */
  const streams = new Set<() => void>();
  let isStopping = false;
  const hopsOf = (request: IncomingMessage): number => received.get(request)?.hops ?? 0;

  return {
    receive: (request, admission) => void received.set(request, admission),
    principalOf: (request) => received.get(request)?.principal,
    forwardBySession({ request, response, principal }) {
      const id = sessionOf(request);
      if (id === undefined || !owners.isForeign(id) || hopsOf(request) >= MAX_HOPS) return undefined;
      return serve({ request, response, principal, id, kind: "session" });
    },
    forwardByMessage({ request, response, principal }, message, text) {
      const issued = issuedIn(message);
      if (issued === undefined || !owners.isForeign(issued.id) || hopsOf(request) >= MAX_HOPS)
        return undefined;
      const body = Buffer.from(text);
      return serve({ request, response, principal, ...issued, body, messageId: message.id });
    },
    forwardMoved({ request, response, principal }, text, messageId) {
      const id = sessionOf(request);
      if (id === undefined || !owners.isForeign(id) || hopsOf(request) >= MAX_HOPS) return undefined;
      const body = text === undefined ? undefined : Buffer.from(text);
      return serve({
        ...{ request, response, principal, id, kind: "session", messageId },
        ...(body !== undefined && { body }),
      });
    },
    endStreams() {
      isStopping = true;
      for (const end of streams) end();
    },
    close() {
      agent.destroy();
      owners.close();
    },
  };

  async function serve(forwarding: Forwarding): Promise<"done" | "here"> {
    const { response, messageId } = forwarding;
    try {
      return await forwardToOwner(forwarding);
    } catch (error) {
      // A refusal is an answer; anything else is a fault, which no request of a host should cause.
      if (!(error instanceof GatewayError))
        logger.error({ error }, "a request could not be forwarded to its owner");
      sendFailure(response, httpFailure(error), messageId);
      return "done";
    }
  }

  async function forwardToOwner(forwarding: Forwarding): Promise<"done" | "here"> {
    const { id, kind, request, response } = forwarding;
    if (request.method === "GET" && isStopping) throw overloaded("this process stops", RETRY_MS);
    let gone: Owner | undefined;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const located = owners.locate(id, kind, hopsOf(request), gone);
      const owner = located instanceof Promise ? await located : located;
      if (response.destroyed) return "done";
      if (owner === "here") return "here";
      if (owner === "nowhere") throw goneError(kind);
      const startedAt = performance.now();
      const outcome = await forward(owner, forwarding);
      owners.onForwarded?.(outcome, performance.now() - startedAt);
      if (outcome === "answered") return "done";
      if (outcome === "lost") throw lostError(forwarding);
      // Its process may live on, and what is its own is served by no other until it is known to be gone.
      if (outcome === "unreachable") break;
      if (outcome === "absent") gone = owner;
    }
    throw overloaded("the process that serves this cannot be reached at present", RETRY_MS);
  }

  function open({ address }: Owner, options: RequestOptions): ClientRequest {
    if ("socketPath" in address) return openHttp({ ...options, socketPath: address.socketPath, agent });
    const { hostname, port } = address.url;
    const at = { ...options, host: hostname.replace(/^\[|\]$/g, ""), ...(port !== "" && { port }) };
    return openHttp({ ...at, agent: address.agent });
  }

  function endWhenStopping(answer: IncomingMessage, response: ServerResponse): void {
    const end = (): void => {
      answer.unpipe(response);
      response.end();
    };
    streams.add(end);
    response.once("close", () => streams.delete(end));
    if (isStopping) end();
  }

  function forward(
    owner: Owner,
    { request, response, principal, body }: Forwarding,
  ): Promise<ForwardOutcome> {
    return new Promise((resolve) => {
      const { method = "GET", url: path = "/" } = request;
      // A process that stops closes its idle connections, perhaps in the moment in which a request is written to one.
      const mustAsk = owner.isLeaving === true && method === "POST";
      const forwarded = open(owner, {
        method,
        path,
        headers: [
          ...["host", "cardea"],
          ...forwardedHeaders(request.rawHeaders, body === undefined, headerNames()),
          ...(body === undefined ? [] : ["content-length", String(body.length)]),
          ...owner.admission(method, path, hopsOf(request) + 1, principal),
          ...(mustAsk ? ["expect", "100-continue"] : []),
        ],
        setHost: false,
      });
      forwarded.once("response", (answer) => {
        if (isRefusal(answer)) {
          logger.warn(
            { to: owner.name, refused: answer.headers[HEADER.peer] },
            "the owner refuses requests of this process",
          );
          answer.resume();
          resolve("unreachable");
          return;
        }
        const framed = answer.headers["content-length"] !== undefined;
        const headers = withoutHeaders(answer.rawHeaders, framed ? HOP_BY_HOP_HEADERS : FRAMING_HEADERS);
        response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
        // The first event of a stream may be long in coming.
        if (!framed) response.flushHeaders();
        // An owner that is lost in the middle of an answer leaves half of one, and the host must see that.
        answer.once("error", () => response.destroy());
        answer.pipe(response);
        if (method === "GET") endWhenStopping(answer, response);
        resolve("answered");
      });
      let isConnected = false;
      let isTaken = false;
      const slow = setTimeout(() => {
        if (!isTaken) forwarded.destroy(new Error(`no connection within ${connectMs} ms`));
      }, connectMs);
      forwarded.once("close", () => clearTimeout(slow));
      forwarded.once("error", (error: NodeJS.ErrnoException) => {
        if (response.destroyed || response.headersSent) response.destroy();
        else logger.warn({ to: owner.name, error }, "a request could not be forwarded to its owner");
        resolve(
          isTaken
            ? "lost"
            : isConnected || CLOSED.has(error.code)
              ? "closed"
              : ABSENT.has(error.code)
                ? "absent"
                : "unreachable",
        );
      });
      // The host has hung up, or has everything; a request that is over cannot be ended again.
      response.once("close", () => forwarded.destroy());
      const send = (): void => {
        isTaken = true;
        clearTimeout(slow);
        if (body !== undefined) {
          forwarded.end(body);
          return;
        }
        // A connection whose request has begun is not closed as an idle one when the owner stops.
        forwarded.flushHeaders();
        request.pipe(forwarded);
      };
      const onConnected = (): void => {
        isConnected = true;
        if (mustAsk) forwarded.once("continue", send);
        else send();
      };
      // Nothing is sent before the owner has taken the connection: what it has not seen may be served by another one.
      forwarded.once("socket", (socket) => {
        if (socket.destroyed) return;
        if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", onConnected);
        else onConnected();
      });
    });
  }
}

/** Whether the owner's listener for replicas refused the request unread: nothing of that is for the host. */
const isRefusal = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 403 && headers[HEADER.peer] !== undefined;

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

/** Names and values by turns, as Node has them. `isFramed`: the body follows as the host has framed it. */
const forwardedHeaders = (raw: readonly string[], isFramed: boolean, others: readonly string[]): string[] =>
  raw.filter((_, at) => {
    const name = (raw[at - (at % 2)] ?? "").toLowerCase();
    return isForwarded(name, isFramed) || others.includes(name);
  });

const isForwarded = (name: string, isFramed: boolean): boolean =>
  FORWARDED_HEADERS.has(name) ||
  name.startsWith(HEADER.paramPrefix) ||
  (isFramed && FRAMING_NAMES.some((framing) => framing === name));

const withoutHeaders = (raw: readonly string[], names: ReadonlySet<string>): string[] =>
  raw.filter((_, at) => !names.has((raw[at - (at % 2)] ?? "").toLowerCase()));

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
