/** Which clients a modern server serves in a session beside its shared connection, and whether it takes any (decision 32). */
import type { ServerConfig } from "../config/config.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import { type Audience, EVERYBODY, type ServerFacts } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";
import { mayBeAsked } from "./capabilities.js";
import { type Met, NoSession } from "./connect.js";
import { audienceFor, IN_SESSIONS } from "./lease.js";
import { HandshakeRefused } from "./legacy/handshake.js";
import { HttpStatusError } from "./transport/channel.js";
import { type EraVerdict, pinOf } from "./verdict.js";

export interface SessionChoiceSettings {
  readonly server: ServerConfig;
  readonly verdict: EraVerdict;
  readonly log: Logger;
  /** The server turned out to open no sessions: from now on all clients share one connection. */
  readonly refused: () => void;
}

export class SessionChoice {
  readonly #settings: SessionChoiceSettings;
  /** True where the config leaves it to the gateway how the server is spoken to, and over how many connections. */
  readonly #isFree: boolean;
  #facts: ServerFacts | undefined;

  constructor(settings: SessionChoiceSettings) {
    this.#settings = settings;
    const { protocol, lease } = settings.server;
    this.#isFree = pinOf(protocol) === undefined && lease !== "shared";
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
  has(client: Client): boolean {
    if (!client.session || !this.#isFree || this.#settings.verdict.takesSessions === false) return false;
    const { lease, transport } = this.#settings.server;
    return transport.kind === "http" || lease !== "auto" || mayBeAsked(client);
  }

  /** Whose lists and session `client` gets, of whom `promised` is promised. */
  audience(client: Client, promised: JsonObject): Audience {
    const audience = audienceFor(this.#settings.server.lease, client, promised);
    return audience === EVERYBODY ? IN_SESSIONS : { ...audience, isApart: true };
  }

  /**
   * Opens a session by `open`, and learns from how that goes.
   * @throws what `open` throws
   */
  async open(open: () => Promise<Met>, signal: StopSignal): Promise<Met> {
    const { server, verdict, log, refused } = this.#settings;
    try {
      const met = await open();
      verdict.learnSessions(true);
      this.#facts = met.connection.facts;
      return met;
    } catch (error) {
      const cause = error instanceof GatewayError ? error.cause : undefined;
      const isKnown = verdict.takesSessions === true;
      // One that has opened sessions before is believed only if it says that it does not know them any more.
      if (signal.aborted || (isKnown && !isUnknownMethod(cause))) throw error;
      verdict.learnSessions(false, isRefusal(cause));
      const sentence = "the server opens no sessions; all hosts are served over the one connection";
      log.info({ server: server.name, error }, sentence);
      refused();
      throw error;
    }
  }
}

/** The server has said that it opens no sessions. Whatever else went wrong may be over soon. */
function isRefusal(cause: unknown): boolean {
  if (cause instanceof NoSession || isUnknownMethod(cause)) return true;
  if (cause instanceof HttpStatusError) return NO_SUCH_THING.has(cause.status);
  if (!(cause instanceof HandshakeRefused)) return false;
  const { status, error } = cause;
  return error.code !== CODE.internalError && (status < 400 || NO_SUCH_THING.has(status));
}

const NO_SUCH_THING: ReadonlySet<number> = new Set([400, 404, 405]);

const isUnknownMethod = (cause: unknown): boolean =>
  cause instanceof HandshakeRefused &&
  (cause.error.code === CODE.methodNotFound || cause.error.code === CODE.unsupportedProtocolVersion);
