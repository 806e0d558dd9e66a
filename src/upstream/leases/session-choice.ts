/** Which clients does a modern server serve in a session, beside its shared connection (decision 32)? */
import type { ServerConfig } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { ServerFacts } from "../../core/upstream.js";
import { CODE } from "../../wire/names.js";
import { HandshakeRefused } from "../legacy/session.js";
import { declaresClientFeatures } from "../protocol/advertised-capabilities.js";
import type { Connected } from "../supervision/connect.js";
import { NoSessionError } from "../supervision/connect-errors.js";
import { type EraCache, pinOf } from "../supervision/era-cache.js";
import { HttpStatusError } from "../transport/channel.js";

/** What the choice depends on, and what a refusal changes. */
export interface SessionChoiceSettings {
  readonly server: ServerConfig;
  readonly eraCache: EraCache;
  readonly log: Logger;
  /** The facts of the last session, of an earlier process. */
  readonly facts: ServerFacts | undefined;
  /** Called when the server turns out to open no sessions: from then on all clients share one connection. */
  readonly onRefused: () => void;
}

/** The choice for one server, learned from its answers to `initialize`. */
export class SessionChoice {
  readonly #settings: SessionChoiceSettings;
  /** True where the config pins neither the era nor one shared connection. */
  readonly #isAutomatic: boolean;
  #facts: ServerFacts | undefined;

  constructor(settings: SessionChoiceSettings) {
    this.#settings = settings;
    this.#facts = settings.facts;
    const { protocol, lease } = settings.server;
    this.#isAutomatic = pinOf(protocol) === undefined && lease !== "shared";
  }

  /** The facts of the last session; undefined until the first one. */
  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  /**
   * Whether `client` is served in a session. A client that keeps one is, where the server accepts `initialize` or may
   * accept it. On a pipe a session is a process of its own, which only clients that can be asked questions get.
   */
  usesSession(client: Client): boolean {
    if (!client.session || !this.#isAutomatic || this.#settings.eraCache.supportsSessions === false)
      return false;
    const { lease, transport } = this.#settings.server;
    return transport.kind === "http" || lease !== "auto" || declaresClientFeatures(client);
  }

  /**
   * Opens a session by `open`, and caches whether that works.
   * @throws what `open` throws
   */
  async open(open: () => Promise<Connected>, signal: StopSignal): Promise<Connected> {
    const { server, eraCache, log, onRefused } = this.#settings;
    try {
      const connected = await open();
      eraCache.learnSessions(true);
      this.#facts = connected.connection.facts;
      return connected;
    } catch (error) {
      const cause = error instanceof GatewayError ? error.cause : undefined;
      const isKnown = eraCache.supportsSessions === true;
      // A server that opened sessions before must answer "method not found"; any other failure may be temporary.
      if (signal.aborted || (isKnown && !isUnknownMethod(cause))) throw error;
      eraCache.learnSessions(false, isSessionRefusal(cause));
      const sentence =
        "the server opens no sessions (initialize); all hosts are served over the shared connection";
      log.info({ server: server.name, error }, sentence);
      onRefused();
      throw error;
    }
  }
}

/** Whether the server refused sessions; any other failure may be temporary. */
function isSessionRefusal(cause: unknown): boolean {
  if (cause instanceof NoSessionError || isUnknownMethod(cause)) return true;
  if (cause instanceof HttpStatusError) return UNSUPPORTED_STATUSES.has(cause.status);
  if (!(cause instanceof HandshakeRefused)) return false;
  const { status, error } = cause;
  return error.code !== CODE.internalError && (status < 400 || UNSUPPORTED_STATUSES.has(status));
}

const UNSUPPORTED_STATUSES: ReadonlySet<number> = new Set([400, 404, 405]);

const isUnknownMethod = (cause: unknown): boolean =>
  cause instanceof HandshakeRefused &&
  (cause.error.code === CODE.methodNotFound || cause.error.code === CODE.unsupportedProtocolVersion);
