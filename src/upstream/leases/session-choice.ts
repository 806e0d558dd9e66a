/** Which clients a modern server serves in a session beside its shared connection, and whether it takes any (decision 32). */
import type { ServerConfig } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import { type ListScope, type ServerFacts, SHARED_SCOPE } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { HandshakeRefused } from "../legacy/handshake.js";
import { declaresClientFeatures } from "../protocol/advertised-capabilities.js";
import { type Connected, NoSessionError } from "../supervision/connect.js";
import { type EraCache, pinOf } from "../supervision/era-cache.js";
import { HttpStatusError } from "../transport/channel.js";
import { listScopeFor, SESSION_LIST_SCOPE } from "./lease.js";

export interface SessionChoiceSettings {
  readonly server: ServerConfig;
  readonly eraCache: EraCache;
  readonly log: Logger;
  /** The server turned out to open no sessions: from now on all clients share one connection. */
  readonly onRefused: () => void;
}

export class SessionChoice {
  readonly #settings: SessionChoiceSettings;
  /** True where the config leaves it to the gateway how the server is spoken to, and over how many connections. */
  readonly #isAutomatic: boolean;
  #facts: ServerFacts | undefined;

  constructor(settings: SessionChoiceSettings) {
    this.#settings = settings;
    const { protocol, lease } = settings.server;
    this.#isAutomatic = pinOf(protocol) === undefined && lease !== "shared";
  }

  /** What the server said of itself when it opened a session last; undefined while it has opened none. */
  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  /**
   * Whether `client` is served in a session: a client that keeps one is, wherever the server takes `initialize` too, or
   * may take it. On a pipe that is another process, and only for clients that can be asked; those that cannot miss
   * nothing on the process that serves all others.
   */
  usesSession(client: Client): boolean {
    if (!client.session || !this.#isAutomatic || this.#settings.eraCache.supportsSessions === false)
      return false;
    const { lease, transport } = this.#settings.server;
    return transport.kind === "http" || lease !== "auto" || declaresClientFeatures(client);
  }

  /** Whose lists and session `client` gets, of whom `advertised` is promised. */
  listScope(client: Client, advertised: JsonObject): ListScope {
    const listScope = listScopeFor(this.#settings.server.lease, client, advertised);
    return listScope === SHARED_SCOPE ? SESSION_LIST_SCOPE : { ...listScope, hasOwnUpdates: true };
  }

  /**
   * Opens a session by `open`, and learns from how that goes.
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
      // One that has opened sessions before is believed only if it says that it does not know them any more.
      if (signal.aborted || (isKnown && !isUnknownMethod(cause))) throw error;
      eraCache.learnSessions(false, isSessionRefusal(cause));
      const sentence = "the server opens no sessions; all hosts are served over the one connection";
      log.info({ server: server.name, error }, sentence);
      onRefused();
      throw error;
    }
  }
}

/** The server has said that it opens no sessions. Whatever else went wrong may be over soon. */
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
