/**
 * Forwards an HTTP request to the worker that owns its session, parked call or task. That worker runs all checks, as if the
 * host had connected to it.
 */
import { Agent, type IncomingMessage, request as openRequest, type ServerResponse } from "node:http";
import { GatewayError, overloaded } from "../core/errors.js";
import { issuerOf } from "../core/issuer.js";
import type { Logger } from "../core/logger.js";
import { TASK_METHODS } from "../core/methods.js";
import { type WorkerIdentity, workerSocket } from "../core/worker-identity.js";
import type { Envelope, MessageId } from "../wire/envelope.js";
import { stringAt } from "../wire/json.js";
import { HEADER } from "../wire/names.js";
import { MESSAGES_PATH } from "./edge.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";

/** Forwards requests to the worker that owns their session, call or task. */
export interface WorkerForwarder {
  /** Forwards a request by its session id; false where the session is this worker's own, or there is none. */
  forwardBySession(request: IncomingMessage, response: ServerResponse): boolean;
  /** Forwards a message without a session by its task or request state. `body` is the request body as it was read. */
  forwardByMessage(
    request: IncomingMessage,
    response: ServerResponse,
    message: Envelope,
    body: string,
  ): boolean;
  /** Closes the connections to the other workers. */
  close(): void;
}

/** `absent`: the worker does not run, `lost`: the worker took the request and ended without a response. */
type ForwardOutcome = "answered" | "absent" | "lost";

/** An idle connection to another worker is closed after this time (ms), by the side that opened it. */
const IDLE_MS = 10_000;

/** What is true of one connection and not of the next (RFC 9110, 7.6.1). */
const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set(["connection", "keep-alive"]);
const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
]);

/** Makes the forwarder of the worker `identity`. */
export function createWorkerForwarder(identity: WorkerIdentity, logger: Logger): WorkerForwarder {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });

  return {
    forwardBySession(request, response) {
      const owner = otherWorkerOf(sessionOf(request));
      if (owner === undefined) return false;
      forward(owner, request, response).then(
        (outcome) => outcome === "answered" || sendFailure(response, httpFailure(SESSION_ERRORS[outcome]())),
        (error: unknown) => fail(response, error),
      );
      return true;
    },
    forwardByMessage(request, response, message, body) {
      const owner = otherWorkerOf(workerBoundId(message));
      if (owner === undefined) return false;
      forward(owner, request, response, Buffer.from(body)).then(
        (outcome) =>
          outcome === "answered" || sendFailure(response, httpFailure(MESSAGE_ERRORS[outcome]()), message.id),
        (error: unknown) => fail(response, error, message.id),
      );
      return true;
    },
    close: () => agent.destroy(),
  };

  /** A fault: no request of a host should cause it. */
  function fail(response: ServerResponse, error: unknown, id?: MessageId): void {
    logger.error({ error }, "a request could not be forwarded to its worker");
    sendFailure(response, httpFailure(error), id);
  }

  function otherWorkerOf(text: string | undefined): number | undefined {
    const issuer = text === undefined ? undefined : issuerOf(text);
    const number = issuer === undefined || !/^\d+$/.test(issuer) ? undefined : Number(issuer);
    const exists = number !== undefined && number >= 1 && number <= identity.count;
    return exists && number !== identity.number ? number : undefined;
  }

  function sessionOf({ headers, url = "" }: IncomingMessage): string | undefined {
    const session = headers[HEADER.sessionId];
    if (typeof session === "string") return session;
    const [path, query = ""] = url.split("?", 2);
    return path === MESSAGES_PATH ? (new URLSearchParams(query).get("sessionId") ?? undefined) : undefined;
  }

  function forward(
    owner: number,
    request: IncomingMessage,
    response: ServerResponse,
    body?: Buffer,
  ): Promise<ForwardOutcome> {
    return new Promise((resolve) => {
      const forwarded = openRequest({
        socketPath: workerSocket(identity, owner, "requests"),
        agent,
        method: request.method,
        path: request.url,
        // Unchanged: the other worker checks duplicate and malformed headers.
        headers:
          body === undefined
            ? withoutHeaders(request.rawHeaders, HOP_BY_HOP_HEADERS)
            : [...withoutHeaders(request.rawHeaders, FRAMING_HEADERS), "content-length", String(body.length)],
        setHost: false,
      });
      forwarded.once("response", (answer) => {
        const framed = answer.headers["content-length"] !== undefined;
        const headers = withoutHeaders(answer.rawHeaders, framed ? HOP_BY_HOP_HEADERS : FRAMING_HEADERS);
        response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
        // The first event of a stream may be long in coming.
        if (!framed) response.flushHeaders();
        // A worker that is lost in the middle of an answer leaves half of one, and the host must see that.
        answer.once("error", () => response.destroy());
        answer.pipe(response);
        resolve("answered");
      });
      forwarded.once("error", (error: NodeJS.ErrnoException) => {
        if (response.destroyed || response.headersSent) {
          response.destroy();
          return;
        }
        const absent = error.code === "ENOENT" || error.code === "ECONNREFUSED";
        logger.warn({ to: owner, error }, "a request could not be forwarded to its worker");
        resolve(absent ? "absent" : "lost");
      });
      // The host has hung up, or has everything; a request that is over cannot be ended again.
      response.once("close", () => forwarded.destroy());
      if (body === undefined) request.pipe(forwarded);
      else forwarded.end(body);
    });
  }
}

/** What a message of a host without a session brings back that only its issuer can use. */
function workerBoundId({ method, params }: Envelope): string | undefined {
  if (params === undefined || method === undefined) return undefined;
  return (
    stringAt(params, "requestState") ?? (TASK_METHODS.has(method) ? stringAt(params, "taskId") : undefined)
  );
}

/** Names and values by turns, as Node has them. */
const withoutHeaders = (raw: readonly string[], names: ReadonlySet<string>): string[] =>
  raw.filter((_, at) => !names.has((raw[at - (at % 2)] ?? "").toLowerCase()));

const WORKER_LOST = "the worker that served this exited; the outcome is unknown";

/** The sessions of a worker end with it. */
const SESSION_ERRORS = {
  absent: () =>
    new HttpRefusal(
      404,
      "bad_request",
      "there is no such session (any more): send initialize without a session id",
    ),
  lost: () => new HttpRefusal(502, "outcome_unknown", WORKER_LOST),
};

/** Without a session the next worker of that number can tell what is known. */
const MESSAGE_ERRORS = {
  absent: () => overloaded("the worker that serves this is restarting", 1_000),
  lost: () => new GatewayError("outcome_unknown", "gateway", WORKER_LOST),
};
