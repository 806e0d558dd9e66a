/** What is agreed with a legacy server (`initialize`), and what happens when it forgets the session? A new handshake. */
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import type { StopSignal } from "../../core/stop.js";
import type { ServerFacts } from "../../core/upstream.js";
import type { Request, RpcError } from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { HEADER, LEGACY_REVISIONS, OWN_META } from "../../wire/names.js";
import { backoff, type ProtocolSettings } from "../connection.js";
import { isReleased as isForgottenRequest, isModernRefusal } from "../protocol/open-calls.js";
import {
  type Channel,
  type ChannelResponse,
  type ExchangeOptions,
  type Headers,
  HttpStatusError,
} from "../transport/channel.js";

/** How sessions are opened, and who is notified of a new or lost one. */
interface SessionSettings extends Omit<HandshakeSettings, "signal"> {
  readonly log: Logger;
  /** The timeout (ms) of a new handshake after the session was lost. */
  readonly handshakeTimeoutMs: number;
  /** Numbers from 0 up to 1, for the jitter of the backoff. */
  readonly random: () => number;
  /** The session was lost and a new one was opened; the server has no state of the old one. */
  readonly onRenewed: () => void;
  /** The session was lost and no new one could be opened; the connection must be opened again. */
  readonly onLost: (cause: GatewayError) => void;
}

/** The current session of one connection. */
export class Session {
  readonly #channel: Channel;
  readonly #settings: SessionSettings;
  #negotiated: NegotiatedSession;
  #renewal: Promise<void> | undefined;
  /** The number of sessions in a row in which the server forgot the session again at the first request. */
  #failures = 0;
  /** The last of them, and the time (`performance.now()`) before which no new one is opened. */
  #rejected: NegotiatedSession | undefined;
  #notBefore = 0;

  private constructor(channel: Channel, settings: SessionSettings, agreement: NegotiatedSession) {
    this.#channel = channel;
    this.#settings = settings;
    this.#negotiated = agreement;
  }

  /** Opens the first session. @throws HandshakeRefused, or a GatewayError of the channel. */
  static async open(channel: Channel, settings: SessionSettings, signal: StopSignal): Promise<Session> {
    return new Session(channel, settings, await performHandshake(channel, { ...settings, signal }));
  }

  get negotiated(): NegotiatedSession {
    return this.#negotiated;
  }

  /**
   * Sends a request in the current session. A server that answers that it does not know the session has not executed
   * the request: then, and only then, it is sent again in a new session. Where the answer is the same again, the
   * next session is opened after a backoff; until then the client gets that answer.
   */
  async exchange(request: Request, options: Omit<ExchangeOptions, "headers">): Promise<ChannelResponse> {
    const negotiated = this.#negotiated;
    try {
      const answer = await this.#channel.exchange(request, { headers: negotiated.headers, ...options });
      if (isEraChange(answer)) throw this.#eraChanged();
      if (!respondsUnknownSession(negotiated, answer) || !this.#mayRenew(negotiated)) return answer;
    } catch (error) {
      if (!failedWithUnknownSession(negotiated, error) || !this.#mayRenew(negotiated)) throw error;
    }
    await this.#renew(negotiated);
    if (isForgottenRequest(request)) throw this.#sessionLost();
    return this.#exchangeAgain(request, options);
  }

  async #exchangeAgain(
    request: Request,
    options: Omit<ExchangeOptions, "headers">,
  ): Promise<ChannelResponse> {
    const renewed = this.#negotiated;
    try {
      const answer = await this.#channel.exchange(request, { headers: renewed.headers, ...options });
      if (respondsUnknownSession(renewed, answer)) this.#renewalRejected(renewed);
      else this.#failures = 0;
      return answer;
    } catch (error) {
      if (failedWithUnknownSession(renewed, error)) this.#renewalRejected(renewed);
      throw error;
    }
  }

  #mayRenew(lost: NegotiatedSession): boolean {
    return this.#negotiated !== lost || performance.now() >= this.#notBefore;
  }

  #renewalRejected(renewed: NegotiatedSession): void {
    if (this.#rejected === renewed) return;
    this.#rejected = renewed;
    this.#failures += 1;
    this.#notBefore = performance.now() + backoff(this.#failures, this.#settings.random);
  }

  /** A server of the other era has taken its place; where there was no session, only this error shows it. */
  #eraChanged(): GatewayError {
    const { server, onLost } = this.#settings;
    const sentence = `${server} no longer speaks the protocol revision of this connection`;
    const error = new GatewayError("upstream_unavailable", "upstream", sentence, { server, retryable: true });
    onLost(error);
    return error;
  }

  /** The call was parked: the server has executed a part of it, so it cannot be sent again. */
  #sessionLost(): GatewayError {
    const { server } = this.#settings;
    const sentence = `${server} has forgotten the session while a call in it waited`;
    return new GatewayError("upstream_closed", "upstream", sentence, { server, supervised: true });
  }

  /** Single-flight: all calls that find the session lost share one new handshake. */
  async #renew(lost: NegotiatedSession): Promise<void> {
    if (this.#negotiated !== lost) return;
    this.#renewal ??= this.#openNewSession().finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  async #openNewSession(): Promise<void> {
    const { server, log, handshakeTimeoutMs } = this.#settings;
    log.info({ server }, "the server has forgotten the session; a new one is opened");
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), handshakeTimeoutMs);
    try {
      this.#negotiated = await performHandshake(this.#channel, { ...this.#settings, signal: limit.signal });
    } catch (cause) {
      const why = cause instanceof HandshakeRefused || cause instanceof GatewayError ? cause.message : "";
      const error = new GatewayError(
        "upstream_unavailable",
        "upstream",
        `${server} has forgotten the session and refused a new one: ${why}`,
        { cause, retryable: true, server },
      );
      this.#settings.onLost(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.#settings.onRenewed();
  }
}

const isEraChange = ({ status, message }: ChannelResponse): boolean =>
  status === 400 && message.error !== undefined && isModernRefusal(message.error);

// The specification requires 404 (2025-11-25, transports, "Session Management"); servers after the examples of the
// first SDKs answer 400 with a message that names the session.
function isUnknownSession(negotiated: NegotiatedSession, status: number, words: string | undefined): boolean {
  if (negotiated.sessionId === undefined) return false;
  return status === 404 || (status === 400 && words !== undefined && /\bsession\b/i.test(words));
}

const respondsUnknownSession = (
  negotiated: NegotiatedSession,
  { status, message }: ChannelResponse,
): boolean => isUnknownSession(negotiated, status, message.error?.message);

function failedWithUnknownSession(negotiated: NegotiatedSession, error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : undefined;
  return cause instanceof HttpStatusError && isUnknownSession(negotiated, cause.status, cause.body);
}

/** What `initialize` carries. */
interface HandshakeSettings extends Pick<ProtocolSettings, "server" | "gateway" | "ids"> {
  /** The revision to offer; the server may answer with an older one. */
  readonly revision: string;
  readonly capabilities: JsonObject;
  /** Called before `notifications/initialized` is sent. */
  readonly onInitialized: () => void;
  readonly signal: StopSignal;
}

/** The result of the handshake, and the headers that every later message of the session carries. */
interface NegotiatedSession {
  readonly facts: ServerFacts;
  readonly revision: string;
  readonly sessionId: string | undefined;
  readonly headers: Headers;
}

/** The server answered `initialize` with an error. */
export class HandshakeRefused extends Error {
  override readonly name = "HandshakeRefused";
  constructor(
    readonly error: RpcError,
    readonly status: number,
  ) {
    super(`initialize was refused: ${error.message}`);
  }
}

/** A revision before the first published one, which some old servers answer with; the differences do not matter here. */
const OLDEST_KNOWN = "2024-10-07";

/**
 * Performs the handshake. An abort only ends the wait: `initialize` must not be cancelled by a notification
 * (2025-11-25, basic/utilities/cancellation).
 *
 * @throws HandshakeRefused, or a GatewayError of the channel.
 */
async function performHandshake(channel: Channel, settings: HandshakeSettings): Promise<NegotiatedSession> {
  const answer = await channel.exchange(
    {
      jsonrpc: "2.0",
      id: settings.ids.next(),
      method: "initialize",
      params: {
        protocolVersion: settings.revision,
        capabilities: settings.capabilities,
        clientInfo: settings.gateway,
      },
    },
    { signal: settings.signal },
  );
  if (answer.message.error !== undefined) throw new HandshakeRefused(answer.message.error, answer.status);
  const result = answer.message.result ?? {};
  const revision = stringAt(result, "protocolVersion") ?? "no version";
  if (revision !== OLDEST_KNOWN && !LEGACY_REVISIONS.some((known) => known === revision)) {
    throw new GatewayError(
      "upstream_unavailable",
      "upstream",
      `${settings.server} answered initialize with ${revision}, which the gateway does not support`,
      { server: settings.server },
    );
  }
  const sessionId = answer.header(HEADER.sessionId);
  const headers: Headers = {
    [HEADER.protocolVersion]: revision,
    ...(sessionId !== undefined && { [HEADER.sessionId]: sessionId }),
  };
  settings.onInitialized();
  await channel.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { headers });
  return { facts: factsOf(result, revision), revision, sessionId, headers };
}

function factsOf(result: JsonObject, revision: string): ServerFacts {
  const instructions = stringAt(result, "instructions");
  const instance = stringAt(objectAt(result, "_meta"), OWN_META.instance);
  return {
    capabilities: withCompletions(
      knownCapabilities(objectAt(result, "capabilities") ?? {}, revision),
      revision,
    ),
    serverInfo: objectAt(result, "serverInfo") ?? {},
    ...(instructions !== undefined && { instructions }),
    ...(instance !== undefined && { instance }),
  };
}

/** Tasks came with 2025-11-25, and their extension belongs to the revisions after it (SEP-2663). */
function knownCapabilities(capabilities: JsonObject, revision: string): JsonObject {
  const known = revision < "2025-11-25" ? without(capabilities, ["tasks"]) : capabilities;
  const extensions = objectAt(known, "extensions");
  const kept = extensions && without(extensions, [TASKS_EXTENSION]);
  return kept === extensions ? known : { ...known, extensions: kept };
}

/** 2024-11-05 had completions for prompts and resources, but no capability for them: such a server is tried. */
function withCompletions(known: JsonObject, revision: string): JsonObject {
  const may = Object.hasOwn(known, "prompts") || Object.hasOwn(known, "resources");
  return may && revision < "2025-03-26" ? { completions: {}, ...known } : known;
}
