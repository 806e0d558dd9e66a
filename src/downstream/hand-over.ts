/**
 * Hands an HTTP request over to the worker that it belongs to: the one that has the session, the parked call or the
 * task. That worker does everything there is to do, checks included, as if the host had come to it.
 */
import { Agent, type IncomingMessage, request as openRequest, type ServerResponse } from "node:http";
import { GatewayError } from "../core/errors.js";
import { issuerOf } from "../core/issuer.js";
import type { Logger } from "../core/logger.js";
import { type Seat, socketOf } from "../core/seat.js";
import { TASK_METHODS } from "../core/tasks.js";
import type { Envelope } from "../wire/envelope.js";
import { stringAt } from "../wire/json.js";
import type { MessageId } from "../wire/message-id.js";
import { HEADER } from "../wire/names.js";
import { MESSAGES_PATH } from "./edge.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";

export interface HandOver {
  /** Hands over a request by the session it names; false when that is this worker's own, or there is none. */
  bySession(request: IncomingMessage, response: ServerResponse): boolean;
  /** Hands over a message without a session by what it brings back. `body` is what was read of the request. */
  byMessage(request: IncomingMessage, response: ServerResponse, message: Envelope, body: string): boolean;
  /** Closes the connections to the other workers. */
  close(): void;
}

/** How it went: `absent` when there was nobody to take it, `lost` when whoever took it did not answer. */
type Outcome = "answered" | "absent" | "lost";

/** A connection to another worker that nobody used for so long (ms) is closed by whoever opened it. */
const IDLE_MS = 10_000;

/** What is true of one connection and not of the next (RFC 9110, 7.6.1). */
const CONNECTION: ReadonlySet<string> = new Set(["connection", "keep-alive"]);
const FRAME: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
]);

export function createHandOver(seat: Seat, logger: Logger): HandOver {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });

  return {
    bySession(request, response) {
      const owner = elsewhere(sessionOf(request));
      if (owner === undefined) return false;
      pass(owner, request, response).then(
        (outcome) => outcome === "answered" || sendFailure(response, httpFailure(SESSION[outcome]())),
        (error: unknown) => fail(response, error),
      );
      return true;
    },
    byMessage(request, response, message, body) {
      const owner = elsewhere(broughtBack(message));
      if (owner === undefined) return false;
      pass(owner, request, response, Buffer.from(body)).then(
        (outcome) =>
          outcome === "answered" || sendFailure(response, httpFailure(MESSAGE[outcome]()), message.id),
        (error: unknown) => fail(response, error, message.id),
      );
      return true;
    },
    close: () => agent.destroy(),
  };

  /** Nothing that a host sends may come to this. */
  function fail(response: ServerResponse, error: unknown, id?: MessageId): void {
    logger.error({ error }, "a request could not be handed over");
    sendFailure(response, httpFailure(error), id);
  }

  /** The number of the other worker that issued `text`. */
  function elsewhere(text: string | undefined): number | undefined {
    const number = text === undefined ? undefined : issuerOf(text);
    const exists = number !== undefined && number >= 1 && number <= seat.count;
    return exists && number !== seat.number ? number : undefined;
  }

  function sessionOf({ headers, url = "" }: IncomingMessage): string | undefined {
    const session = headers[HEADER.sessionId];
    if (typeof session === "string") return session;
    const [path, query = ""] = url.split("?", 2);
    return path === MESSAGES_PATH ? (new URLSearchParams(query).get("sessionId") ?? undefined) : undefined;
  }

  function pass(
    owner: number,
    request: IncomingMessage,
    response: ServerResponse,
    body?: Buffer,
  ): Promise<Outcome> {
    return new Promise((resolve) => {
      const passed = openRequest({
        socketPath: socketOf(seat, owner, "requests"),
        agent,
        method: request.method,
        path: request.url,
        // As they came: what is doubled or odd in them is for the other worker to judge.
        headers:
          body === undefined
            ? without(request.rawHeaders, CONNECTION)
            : [...without(request.rawHeaders, FRAME), "content-length", String(body.length)],
        setHost: false,
      });
      passed.once("response", (answer) => {
        const framed = answer.headers["content-length"] !== undefined;
        const headers = without(answer.rawHeaders, framed ? CONNECTION : FRAME);
        response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
        // The first event of a stream may be long in coming.
        if (!framed) response.flushHeaders();
        // A worker that is lost in the middle of an answer leaves half of one, and the host must see that.
        answer.once("error", () => response.destroy());
        answer.pipe(response);
        resolve("answered");
      });
      passed.once("error", (error: NodeJS.ErrnoException) => {
        if (response.destroyed || response.headersSent) {
          response.destroy();
          return;
        }
        const absent = error.code === "ENOENT" || error.code === "ECONNREFUSED";
        logger.warn({ to: owner, error }, "a request could not be handed over to the worker it belongs to");
        resolve(absent ? "absent" : "lost");
      });
      // The host has hung up, or has everything; a request that is over cannot be ended again.
      response.once("close", () => passed.destroy());
      if (body === undefined) request.pipe(passed);
      else passed.end(body);
    });
  }
}

/** What a message of a host without a session brings back that only its issuer can use. */
function broughtBack({ method, params }: Envelope): string | undefined {
  if (params === undefined || method === undefined) return undefined;
  return (
    stringAt(params, "requestState") ?? (TASK_METHODS.has(method) ? stringAt(params, "taskId") : undefined)
  );
}

/** Names and values by turns, as Node has them. */
const without = (raw: readonly string[], names: ReadonlySet<string>): string[] =>
  raw.filter((_, at) => !names.has((raw[at - (at % 2)] ?? "").toLowerCase()));

const LOST = "the part of the gateway that worked on this was lost; what came of it is not known";

/** The sessions of a worker end with it. */
const SESSION = {
  absent: () =>
    new HttpRefusal(
      404,
      "bad_request",
      "there is no such session (any more): send initialize without a session id",
    ),
  lost: () => new HttpRefusal(502, "outcome_unknown", LOST),
};

/** Without a session the next worker of that number can tell what is known. */
const MESSAGE = {
  absent: () =>
    new GatewayError(
      "overloaded",
      "gateway",
      "the part of the gateway that this belongs to is starting again",
      {
        retryable: true,
        retryAfterMs: 1_000,
      },
    ),
  lost: () => new GatewayError("outcome_unknown", "gateway", LOST),
};
