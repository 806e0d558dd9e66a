/** Serves legacy sessions over Streamable HTTP: POST, GET and DELETE on one path. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { invalidParams, paramsFault, responseFault } from "../../core/check-params.js";
import type { Principal } from "../../core/client.js";
import { badRequest, GatewayError, overloaded, refusalError } from "../../core/errors.js";
import { withIssuer } from "../../core/owners.js";
import type { SessionRecords } from "../../core/replicas.js";
import { withTimeout } from "../../core/stop.js";
import { CoarseTimers } from "../../runtime/coarse-timers.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  isBatch,
  isRequest,
  type MessageId,
  messagesIn,
  type Request,
} from "../../wire/envelope.js";
import { CODE, HEADER, LEGACY_REVISIONS } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { edgeError, type HttpExchange, type HttpPost, type StreamQuota } from "../edge.js";
import { Adoptions } from "./adoptions.js";
import { BatchResponse } from "./batch-response.js";
import { runBatch } from "./batch-run.js";
import { openSession, type SessionOpener } from "./handshake.js";
import {
  errorText,
  frameErrorText,
  PostResponse,
  type PostSettings,
  respondJson,
  resultText,
} from "./messages.js";
import type { Revision } from "./revision.js";
import { type BackendDependencies, handleNonRequest, serveRequest } from "./serve-request.js";
import type { Session } from "./session.js";
import type { SessionStore } from "./session-store.js";
import { type SessionStreamSettings, SessionStreams } from "./session-streams.js";

/** What the edge needs to serve sessions over HTTP. */
export interface HttpEdgeParts {
  readonly store: SessionStore;
  readonly sessionOpener: SessionOpener;
  readonly backend: BackendDependencies;
  readonly streams: SessionStreamSettings;
  readonly streamQuota: StreamQuota;
  /** A call that takes longer gets its event stream although there is nothing to say yet, in ms. */
  readonly streamAfterMs: number;
  /** This process, where there are others. */
  readonly issuer?: string;
  /** Where sessions outlive their process. */
  readonly records?: SessionRecords;
}

const REVISIONS: ReadonlySet<string> = new Set(LEGACY_REVISIONS);
const MAX_BATCH = 100;
const RETRY_MS = 1_000;
/** How long the answer to `initialize` waits for the record of its session, in ms. */
const KEEP_MS = 1_000;

/** Streamable HTTP of the legacy revisions (2025-11-25, basic/transports). */
export class LegacyHttpEdge {
  readonly #timers = new CoarseTimers();
  /** Absent where sessions end with their process. */
  readonly #adoptions: Adoptions | undefined;

  constructor(private readonly parts: HttpEdgeParts) {
    const { records, sessionOpener, backend } = parts;
    if (records === undefined) return;
    this.#adoptions = new Adoptions({
      ...{ records, sessionOpener, logger: backend.logger },
      transportOf: (id, revision, { principal }) => this.#transportOf(id, revision, principal, true),
    });
  }

  post(post: HttpPost): void | Promise<void> {
    // A host that initializes wants a new session, also where it still names the old one.
    const adoption = isInitialize(post.message) ? undefined : this.#adoptions?.begin(post);
    return adoption === undefined ? this.#post(post) : adoption.then(() => this.#post(post));
  }

  /** @throws GatewayError `overloaded` */
  get(exchange: HttpExchange): void | Promise<void> {
    const adoption = this.#adoptions?.begin(exchange);
    return adoption === undefined
      ? this.#get(exchange)
      : adoption.then(() => (exchange.response.destroyed ? undefined : this.#get(exchange)));
  }

  delete(exchange: HttpExchange): void | Promise<void> {
    const adoption = this.#adoptions?.begin(exchange);
    return adoption === undefined ? this.#delete(exchange) : adoption.then(() => this.#delete(exchange));
  }

  #transportOf(id: string, revision: Revision, principal: Principal, isAdopted = false) {
    const share = this.parts.sessionOpener.memoryBudget.shareOf(principal);
    const streams = new SessionStreams(this.parts.streams, revision.primes, share, isAdopted);
    return { id, sink: streams, streams };
  }

  #post(post: HttpPost): void | Promise<void> {
    const { message } = post;
    if (isBatch(message)) return this.#postBatch(post, message);
    if (isInitialize(message)) return this.#initialize(post, message);
    const session = this.#sessionOf(post, message);
    if (session === undefined) return;
    if (isRequest(message)) {
      const settings = this.#postSettings(post);
      const postResponse = new PostResponse(post.response, streamsOf(session), settings, message.id);
      return serveRequest(session, message, postResponse.sink(), this.parts.backend, post.request.headers);
    }
    handleNonRequest(session, message, this.parts.backend.gateway);
    const fault = faultOf(message);
    if (fault === undefined) post.response.writeHead(202).end();
    // Nothing can be answered to what is no request, but its POST can.
    else respondJson(post.response, 400, errorText(undefined, refusalError(invalidParams(fault))));
  }

  #get(exchange: HttpExchange): void {
    const session = this.#sessionOf(exchange);
    if (session === undefined) return;
    const streams = streamsOf(session);
    const lastEventId = headerOf(exchange.request, HEADER.lastEventId);
    if (!accepts(exchange.request, "text/event-stream")) {
      refuse(exchange, 406, "a GET must accept text/event-stream");
      return;
    }
    exchange.response.once("close", this.parts.streamQuota.acquire(exchange.principal));
    if (lastEventId === undefined) {
      streams.openGetStream(exchange.response);
      return;
    }
    const outcome = streams.resume(exchange.response, lastEventId);
    if (outcome === "unknown") refuse(exchange, 400, "unknown Last-Event-ID: no such stream is kept");
    // To an event stream this status says that there is no use in coming back (HTML, "Server-sent events").
    else if (outcome === "over") exchange.response.writeHead(204).end();
  }

  #delete(exchange: HttpExchange): void {
    const session = this.#sessionOf(exchange);
    if (session === undefined) return;
    this.parts.store.end(session, "deleted");
    exchange.response.writeHead(204).end();
  }

  async #initialize(post: HttpPost, request: Request): Promise<void> {
    // A host that has lost its session may send the old id again with `initialize`; it gets a new session.
    const old = headerOf(post.request, HEADER.sessionId);
    if (old !== undefined && this.parts.store.find(old, post.principal, post.endpoint) !== undefined) {
      return refuse(post, 400, "this session is initialized already", request.id);
    }
    try {
      const { session, result } = await openSession(
        this.parts.sessionOpener,
        request.params,
        post,
        (revision) =>
          this.#transportOf(withIssuer(this.parts.issuer, randomUUID()), revision, post.principal),
      );
      // The client is gone, so no request can name this session.
      if (post.response.destroyed) return this.parts.store.end(session, "deleted");
      const kept = this.#adoptions?.keep(session);
      // A host that has the id can rely on its session; a slow disk does not keep it from working.
      if (kept !== undefined) await withTimeout(KEEP_MS, kept);
      post.response.setHeader(HEADER.sessionId, session.id);
      respondJson(post.response, 200, resultText(request.id, Payload.ofObject(result)));
    } catch (error) {
      const refused = error instanceof GatewayError;
      const status = refused ? (error.code === "overloaded" ? 503 : 200) : 500;
      const answer = edgeError(error, request.method, this.parts.backend.logger);
      respondJson(post.response, status, errorText(request.id, answer));
    }
  }

  #postBatch(post: HttpPost, batch: Batch): void | Promise<void> {
    const session = this.#sessionOf(post);
    if (session === undefined) return;
    const problem = batchProblem(batch, session);
    if (problem !== undefined) return refuse(post, 400, problem);
    const messages = messagesIn(batch);
    for (const message of messages)
      if (!isRequest(message)) handleNonRequest(session, message, this.parts.backend.gateway);
    const requests = messages.filter(isRequest);
    const bad = batch.filter((one) => one instanceof FrameError);
    if (requests.length + bad.length === 0) {
      post.response.writeHead(202).end();
      return;
    }
    const ids = [...requests.map(({ id }) => id), ...bad.map(({ id }) => id ?? null)];
    const postResponse = new BatchResponse(
      post.response,
      streamsOf(session),
      this.#postSettings(post),
      ids,
      this.parts.streams.stallMs,
    );
    for (const fault of bad) postResponse.sinkFor(fault.id ?? null).respond(frameErrorText(fault));
    const { backend } = this.parts;
    const { headers } = post.request;
    return runBatch(
      requests,
      postResponse,
      (request) => {
        const sink = postResponse.sinkFor(request.id);
        if (!session.hasEnded) return serveRequest(session, request, sink, backend, headers);
        sink.respond(errorText(request.id, refusalError(sessionEnded())));
        return Promise.resolve();
      },
      ({ id }, error) => postResponse.sinkFor(id).respond(errorText(id, refusalError(error))),
    );
  }

  #postSettings({ request, challenge }: HttpPost): PostSettings {
    const streamable = accepts(request, "text/event-stream");
    const json = accepts(request, "application/json") || !streamable;
    const { streamAfterMs } = this.parts;
    return { streamable, json, streamAfterMs, timers: this.#timers, challenge };
  }

  /** The session of an exchange; answers it and returns undefined where there is none. */
  #sessionOf(exchange: HttpExchange, message?: Envelope): Session | undefined {
    const version = headerOf(exchange.request, HEADER.protocolVersion);
    if (version !== undefined && !REVISIONS.has(version)) {
      return refuse(
        exchange,
        400,
        `the protocol version ${JSON.stringify(version.slice(0, 40))} is not supported`,
        message?.id,
      );
    }
    const id = headerOf(exchange.request, HEADER.sessionId);
    if (id === undefined) {
      if (message !== undefined && isRequest(message) && message.method === "ping") {
        respondJson(exchange.response, 200, resultText(message.id, Payload.ofObject({})));
        return undefined;
      }
      return refuse(exchange, 400, "there is no Mcp-Session-Id: send initialize first", message?.id);
    }
    // A session of another principal is answered like one that does not exist.
    const session = this.parts.store.find(id, exchange.principal, exchange.endpoint);
    // A session that the stop of this process has ended is not over where another one takes it over.
    if (session === undefined && this.#adoptions !== undefined && this.parts.store.isClosing)
      throw overloaded("this process stops", RETRY_MS);
    return session?.streams === undefined
      ? refuse(
          exchange,
          404,
          "there is no such session (any more): send initialize without a session id",
          message?.id,
        )
      : session;
  }
}

/** Batches came with 2025-03-26 and went with 2025-06-18; `initialize` was never part of one. */
function batchProblem(batch: Batch, session: Session): string | undefined {
  if (!session.revision.batches) return `batches do not exist in ${session.revision.name}`;
  if (batch.length > MAX_BATCH) return `a batch may have ${MAX_BATCH} messages`;
  return messagesIn(batch).some(({ method }) => method === "initialize")
    ? "initialize must not be part of a batch"
    : undefined;
}

const isInitialize = (message: Envelope | Batch): message is Request =>
  !isBatch(message) && message.method === "initialize" && isRequest(message);

const faultOf = (message: Envelope): string | undefined =>
  message.method === undefined ? responseFault(message) : paramsFault(message.method, message.params);

const sessionEnded = (): GatewayError =>
  new GatewayError("cancelled", "gateway", "the session ended before this request was run");

function streamsOf(session: Session): SessionStreams {
  if (session.streams === undefined) throw new TypeError("a session over HTTP has streams");
  return session.streams;
}

/** What a client of this era must say, and nearly all do in these very words. */
const DEFAULT_ACCEPT = "application/json, text/event-stream";

/** Whether the client can take `type`. A client that says nothing takes everything (RFC 9110, 12.5.1). */
function accepts(request: IncomingMessage, type: string): boolean {
  const { accept: said } = request.headers;
  if (said === undefined || said === DEFAULT_ACCEPT) return true;
  const accept = said.toLowerCase();
  const range = `${type.slice(0, type.indexOf("/"))}/*`;
  return accept.includes(type) || accept.includes(range) || accept.includes("*/*");
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

function refuse(exchange: HttpExchange, status: number, sentence: string, id?: MessageId): undefined {
  const error = refusalError(badRequest(sentence, { rpc: CODE.invalidRequest }));
  respondJson(exchange.response, status, errorText(id, error));
}
