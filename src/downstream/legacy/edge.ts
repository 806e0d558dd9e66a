/** The legacy era, facing clients: sessions opened by `initialize`, over HTTP and over pipes. */

import { hash } from "node:crypto";
import type { ClientChannel, ClientDirectory, ConnectedClients } from "../../core/client.js";
import { MemoryBudget } from "../../core/fair-share.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { type Logger, SILENT } from "../../core/logger.js";
import type { SessionRecords } from "../../core/replicas.js";
import type { LegacyRevision } from "../../wire/names.js";
import {
  type HttpEdge,
  type HttpExchange,
  type Pipe,
  type PipeEdge,
  type StreamQuota,
  UNLIMITED_STREAMS,
} from "../edge.js";
import type { StreamKind } from "./event-id.js";
import type { CloseReason } from "./event-stream.js";
import type { SessionOpener } from "./handshake.js";
import { LegacyHttpEdge } from "./http-edge.js";
import { LegacyPipeEdge } from "./pipe-edge.js";
import { notifySession, sendSessionQuestion } from "./send-question.js";

import type { Session } from "./session.js";
import { type SessionEnd, type SessionLimits, SessionStore } from "./session-store.js";

/** What the edge tells of itself, for metrics. */
export interface LegacyHooks {
  sessionEnded?(why: SessionEnd): void;
  streamOpened?(kind: StreamKind): void;
  streamClosed?(kind: StreamKind, why: CloseReason): void;
}

/** What the legacy edge is made of. */
export interface LegacyEdgeOptions {
  readonly gateway: GatewayApi;
  readonly sessions: SessionLimits;
  /** A comment is written to an idle stream this often, in ms. */
  readonly keepAliveMs: number;
  readonly logger?: Logger;
  /** Where GET streams must find room. Default: room for all. */
  readonly streamQuota?: StreamQuota;
  readonly hooks?: LegacyHooks;
  /** Time limit (ms) for the answer to a server's question, read again for each. Default 10 minutes. */
  readonly answerMs?: () => number;
  /** What may be kept for sessions between their calls. Default: a budget of its own. */
  readonly memoryBudget?: MemoryBudget;
  /** This process, where there are others; the ids of sessions over HTTP begin with it. */
  readonly issuer?: string;
  /** Where sessions over HTTP outlive this process. Default: they end with it. */
  readonly records?: SessionRecords;
}

/** One open session, as the status page shows it. */
interface SessionStatus {
  /** The first characters of its id; the whole id would be enough to speak in its name. */
  readonly id: string;
  /** Names it for operators, and is no credential; absent for a pipe, which ends with its host. */
  readonly handle?: string;
  readonly principal: string;
  readonly scope: string;
  readonly revision: LegacyRevision;
  readonly client: string | undefined;
  readonly transport: "http" | "pipe";
  readonly openedAt: Date;
  /** Since its last message, in ms; 0 while something is under way. */
  readonly idleMs: number;
  readonly inFlight: number;
  readonly openQuestions: number;
  readonly followed: number;
}

/** Serves legacy sessions, over HTTP and over pipes. */
export interface LegacyEdge extends HttpEdge {
  get(exchange: HttpExchange): void | Promise<void>;
  delete(exchange: HttpExchange): void | Promise<void>;
  pipe(pipe: Pipe): PipeEdge;
  readonly directory: ClientDirectory & ConnectedClients;
  sessions(): readonly SessionStatus[];
  /** Ends the session over HTTP with this handle; false where there is none. */
  endSession(handle: string): boolean;
}

/** A client that is to be asked between its calls has this long to open a stream, in ms. */
const STREAM_WAIT_MS = 10_000;
const MIB = 1024 * 1024;

/** Makes the legacy edge of one gateway. */
export const createLegacyEdge = (options: LegacyEdgeOptions): LegacyEdge => new SessionEdge(options);

class SessionEdge implements LegacyEdge {
  readonly post: HttpEdge["post"];
  readonly directory: LegacyEdge["directory"];
  readonly #options: LegacyEdgeOptions;
  readonly #logger: Logger;
  readonly #store: SessionStore;
  readonly #opener: SessionOpener;
  readonly #http: LegacyHttpEdge;
  readonly #listeners: ((client: ClientChannel) => void)[] = [];

  constructor(options: LegacyEdgeOptions) {
    this.#options = options;
    const { gateway, logger = SILENT, answerMs = () => 600_000, records } = options;
    const { memoryBudget = new MemoryBudget() } = options;
    this.#logger = logger;
    this.#store = new SessionStore(
      options.sessions,
      (session, why) => this.#onSessionEnd(session, why),
      (session) => this.#onSessionAdded(session),
    );
    if (records !== undefined) this.#share(records);
    this.#opener = { gateway, store: this.#store, questions: { answerMs, maxOpen: 100 }, memoryBudget };
    this.#http = this.#openHttp();
    this.post = this.#http.post.bind(this.#http);
    this.directory = {
      find: (affinity) => this.#find(affinity),
      connected: () => {
        const sessions = this.#store.all().filter(({ sink }) => sink.isConnected);
        return sessions.map((session) => channelTo(session));
      },
      onConnected: (listener) => void this.#listeners.push(listener),
    };
  }

  get(exchange: HttpExchange): void | Promise<void> {
    return this.#http.get(exchange);
  }

  delete(exchange: HttpExchange): void | Promise<void> {
    return this.#http.delete(exchange);
  }

  pipe(pipe: Pipe): PipeEdge {
    return new LegacyPipeEdge(pipe, this.#opener, { gateway: this.#options.gateway, logger: this.#logger });
  }

  endSession(handle: string): boolean {
    const isMeant = (each: Session): boolean => each.streams !== undefined && handleOf(each) === handle;
    const session = this.#store.all().find(isMeant);
    if (session !== undefined) this.#store.end(session, "deleted");
    return session !== undefined;
  }

  sessions(): readonly SessionStatus[] {
    return this.#store.all().map(statusOf);
  }

  close(graceMs = 0): Promise<void> {
    const { records } = this.#options;
    records?.stopping?.();
    return this.#store.close(graceMs, (id) => records?.move(id) ?? Promise.resolve(false));
  }

  #onSessionAdded(session: Session): void {
    session.sink.onConnected = () => {
      const channel = channelTo(session);
      for (const listener of this.#listeners) listener(channel);
    };
  }

  #onSessionEnd(session: Session, why: SessionEnd): void {
    const { gateway, hooks, records } = this.#options;
    hooks?.sessionEnded?.(why);
    // The record of one that is given away, or whose process stops, is for the next one.
    if (why !== "closed" && why !== "moved") records?.remove(session.id);
    gateway.releaseClient(session.client.affinity);
  }

  /** Lets other processes take sessions over. */
  #share(records: SessionRecords): void {
    records.onTaken = (id) => {
      const session = this.#store.byAffinity(id);
      if (session !== undefined) this.#store.end(session, "moved");
    };
    records.idleMsOf = (id) => {
      const session = this.#store.byAffinity(id);
      if (session === undefined) return undefined;
      return session.isBusy ? 0 : performance.now() - session.usedAt;
    };
  }

  #openHttp(): LegacyHttpEdge {
    const { gateway, hooks = {}, issuer, records, keepAliveMs, streamQuota } = this.#options;
    return new LegacyHttpEdge({
      store: this.#store,
      sessionOpener: this.#opener,
      backend: { gateway, logger: this.#logger },
      streamAfterMs: keepAliveMs,
      ...(issuer !== undefined && { issuer }),
      ...(records !== undefined && { records }),
      streamQuota: streamQuota ?? UNLIMITED_STREAMS,
      streams: {
        keepAliveMs,
        maxWaitingBytes: MIB,
        stallMs: 30_000,
        retryMs: 1_000,
        log: { maxLength: MIB, maxEvents: 1000 },
        maxGetStreams: 8,
        lingerMs: 30_000,
        onOpen: (kind) => hooks.streamOpened?.(kind),
        onClose: (kind, why) => {
          hooks.streamClosed?.(kind, why);
          if (why === "over_budget" || why === "stalled") {
            const sentence = "a host did not read its event stream, so it was closed";
            this.#logger.warn({ stream: kind, why }, sentence);
          }
        },
      },
    });
  }

  #find(affinity: string): ReturnType<ClientDirectory["find"]> {
    const session = this.#store.byAffinity(affinity);
    return session === undefined ? undefined : channelTo(session);
  }
}

const channelTo = (session: Session): ClientChannel => ({
  get client() {
    return session.client;
  },
  idleSince: session.isBusy ? undefined : session.usedAt,
  request: (request, signal) => sendSessionQuestion(session, request, STREAM_WAIT_MS, signal),
  notify: (notice) => notifySession(session, notice),
});

const statusOf = (session: Session): SessionStatus => ({
  id: session.id.slice(0, 8),
  ...(session.streams !== undefined && { handle: handleOf(session) }),
  principal: session.client.principal.id,
  scope: session.client.endpoint,
  revision: session.revision.name,
  client: typeof session.client.info?.name === "string" ? session.client.info.name : undefined,
  transport: session.streams === undefined ? "pipe" : "http",
  openedAt: new Date(session.openedAt),
  idleMs: session.inFlight > 0 ? 0 : performance.now() - session.usedAt,
  inFlight: session.inFlight,
  openQuestions: session.questions.size,
  followed: session.subscriptions.subscribedResources.size,
});

/** A digest, as the id of a session is a credential. */
const handleOf = ({ id }: Session): string => hash("sha256", id, "hex").slice(0, 16);
