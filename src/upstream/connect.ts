/** Meets a server: opens a channel to it, learns which era it belongs to, and returns the open conversation. */

import type { ServerConfig } from "../config/config.js";
import { inBackground } from "../core/background.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { StopSignal } from "../core/stop.js";
import type { JsonObject } from "../wire/json.js";
import { LEGACY_REVISIONS } from "../wire/names.js";
import { inWordsOf } from "./capabilities.js";
import type { Connection } from "./connection.js";
import type { ConversationSettings } from "./conversation/settings.js";
import { type Settled, settle, unlessAborted, within } from "./conversation/waiting.js";
import { HandshakeRefused } from "./legacy/handshake.js";
import { LegacyConnection, type LegacySettings } from "./legacy/upstream.js";
import { type Finding, probe } from "./modern/probe.js";
import { ModernConnection } from "./modern/upstream.js";
import { type Channel, HttpStatusError } from "./transport/channel.js";
import { type EraVerdict, type Pin, pinOf, type Way } from "./verdict.js";

export type OpenChannel = (way: Way, server: ServerConfig, signal: StopSignal) => Promise<Channel>;

export interface ConnectSettings
  extends Omit<ConversationSettings, "server">,
    Omit<LegacySettings, "server" | "revision" | "handshakeTimeoutMs"> {
  readonly server: ServerConfig;
  readonly openChannel: OpenChannel;
  readonly verdict: EraVerdict;
  /**
   * True where the server is known to be modern and is asked for a session all the same, for a client that keeps one.
   * Nothing is learnt for the shared connection then.
   */
  readonly session?: boolean;
  /** What a modern server is promised with each request of `client`. */
  readonly promise: (client: Client) => JsonObject;
}

export interface Met {
  readonly era: "legacy" | "modern";
  readonly connection: Connection;
}

/** So long (ms) a server over HTTP that is there may take to open a session; it may also know nothing of sessions. */
const SESSION_MS = 10_000;
/** A server on a pipe that is silent for so long (ms) is spoken to in the old way as well. */
const SILENCE_MS = 3_000;

/**
 * @throws GatewayError `upstream_unavailable`, with what the server said last, when it cannot be met within its
 * `connectTimeout`; `cancelled` when `signal` is aborted.
 */
export async function connect(settings: ConnectSettings, signal: StopSignal): Promise<Met> {
  const { server } = settings;
  const limit = new AbortController();
  const stop = (): void => limit.abort(signal.reason);
  const limitMs =
    settings.session === true && server.transport.kind === "http" ? SESSION_MS : Number.POSITIVE_INFINITY;
  const withinMs = Math.min(server.connectTimeoutMs, limitMs);
  const timer = setTimeout(() => limit.abort(), withinMs);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const meeting = new Meeting(settings, limit.signal);
  try {
    return await (server.transport.kind === "stdio" ? meeting.overPipe() : meeting.overHttp());
  } catch (error) {
    const words = meeting.lastWords();
    await meeting.giveUp();
    if (limit.signal.aborted && !signal.aborted) throw tooLate(server, withinMs, words);
    throw explained(server, error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** One attempt to meet a server, with the one channel it has open at a time. */
class Meeting {
  readonly #settings: ConnectSettings;
  readonly #signal: StopSignal;
  readonly #pin: Pin | undefined;
  #channel: Channel | undefined;
  /** A process that is being started; it is ended also when nobody waits for it any more. */
  #starting: Promise<Channel> | undefined;

  constructor(settings: ConnectSettings, signal: StopSignal) {
    this.#settings = settings;
    this.#signal = signal;
    this.#pin = pinOf(settings.server.protocol);
  }

  async overPipe(): Promise<Met> {
    const { verdict } = this.#settings;
    const channel = await this.#open("stdio");
    if (this.#settings.session === true) return this.#asLegacy(channel, undefined);
    if (this.#pin !== undefined) return this.#asPinned(channel, this.#pin);
    const known = verdict.legacy;
    if (known !== undefined) return this.#asRemembered(channel, "stdio", known.sure);
    try {
      return await this.#probePipe(channel);
    } catch (error) {
      // Some servers end when the first message is not `initialize`; that is an answer too.
      if (!hasEnded(error)) throw error;
      verdict.learn("stdio", false);
      return await this.#asLegacy(await this.#open("stdio"), "stdio");
    }
  }

  async overHttp(): Promise<Met> {
    const { server, verdict, session } = this.#settings;
    if (session === true) return this.#inSession(await this.#open("http"));
    if (this.#pin?.era === "modern") return this.#asPinned(await this.#open("http"), this.#pin);
    const prefersSse = server.transport.kind === "http" && server.transport.sse;
    const known = verdict.legacy;
    if (prefersSse || known?.way === "sse") {
      try {
        return await this.#asLegacy(await this.#open("sse"), "sse");
      } catch (error) {
        if (!isElsewhere(error)) throw error;
        verdict.forget();
      }
    }
    const channel = await this.#open("http");
    if (this.#pin?.era === "legacy") return this.#asLegacyHttp(channel);
    if (verdict.legacy !== undefined) return this.#asRemembered(channel, "http", true);
    const found = await this.#probe(channel);
    return found.era === "modern"
      ? this.#asModern(channel, found)
      : this.#asLegacyHttp(channel, found.revision);
  }

  /** The last line that the process wrote to stderr, where there is one. */
  lastWords(): string {
    return this.#channel?.stderr?.trimEnd().split("\n").at(-1) ?? "";
  }

  /** Leaves nothing open. It waits for a process to end, so that there are never two of them. */
  async giveUp(): Promise<void> {
    const { log, server } = this.#settings;
    const starting = this.#starting?.catch(() => undefined);
    this.#starting = undefined;
    const channel = this.#channel ?? (await starting);
    this.#channel = undefined;
    await channel
      ?.close()
      .catch((error: unknown) => log.debug({ server: server.name, error }, "a channel did not close well"));
  }

  async #open(way: Way): Promise<Channel> {
    await this.giveUp();
    const { openChannel, server } = this.#settings;
    // Nothing is started any more for an attempt that was given up while it waited.
    if (this.#signal.aborted) throw gaveUp();
    const opening = openChannel(way, server, this.#signal);
    if (way === "stdio") this.#starting = opening;
    const endLate = (late: Channel): void => {
      if (way !== "stdio") inBackground(late.close(), this.#settings.log, "closing a channel");
    };
    const channel = await unlessAborted(opening, this.#signal, gaveUp, endLate);
    this.#starting = undefined;
    this.#channel = channel;
    return channel;
  }

  #probe(channel: Channel, signal = this.#signal): Promise<Finding> {
    const { gateway, server } = this.#settings;
    return probe(channel, { server: server.name, gateway, signal });
  }

  async #asPinned(channel: Channel, pin: Pin): Promise<Met> {
    if (pin.era === "legacy") return this.#asLegacy(channel, undefined);
    const found = await this.#probe(channel);
    if (found.era === "modern") return this.#asModern(channel, found);
    const { name } = this.#settings.server;
    throw unavailable(
      name,
      `${name} does not speak 2026-07-28, and the config says that nothing else will do`,
    );
  }

  /** Straight to the handshake. A server that refuses it may have been replaced by a modern one. */
  async #asRemembered(channel: Channel, way: "stdio" | "http", sure: boolean): Promise<Met> {
    const { verdict } = this.#settings;
    try {
      return await (way === "http" ? this.#asLegacyHttp(channel) : this.#asLegacy(channel, way));
    } catch (error) {
      if (!sure) verdict.forget();
      if (!(error instanceof HandshakeRefused)) throw error;
      verdict.forget();
      const open = this.#channel === channel ? channel : await this.#open(way);
      const found = await this.#probe(open);
      if (found.era === "modern") return this.#asModern(open, found);
      throw error;
    }
  }

  #asModern(channel: Channel, found: ModernFinding): Met {
    const { server, verdict, ...rest } = this.#settings;
    verdict.forget();
    this.#channel = undefined;
    const connection = new ModernConnection(channel, { ...rest, server: server.name, facts: found.facts });
    return { era: "modern", connection };
  }

  /**
   * Over HTTP a server that gives its sessions no id keeps nothing between two requests: it cannot ask, nor tell of
   * changes, and serves nobody better than in the newer way.
   */
  async #inSession(channel: Channel): Promise<Met> {
    const met = await this.#asLegacy(channel, undefined);
    if (met.connection.keepsSession !== false) return met;
    await met.connection.close();
    const { name } = this.#settings.server;
    throw unavailable(name, `${name} answered initialize and keeps no session`, new NoSession());
  }

  /** `way` is what to remember; nothing when the config decides anyway. */
  async #asLegacy(
    channel: Channel,
    way: Way | undefined,
    offer?: string,
    signal = this.#signal,
  ): Promise<Met> {
    const { server, verdict, ...rest } = this.#settings;
    const revision = offer ?? (this.#pin?.era === "legacy" ? this.#pin.revision : LEGACY_REVISIONS[0]);
    const connection = await LegacyConnection.open(
      channel,
      {
        ...rest,
        server: server.name,
        revision,
        promised: inWordsOf(revision, rest.promised),
        handshakeTimeoutMs: server.connectTimeoutMs,
      },
      signal,
    );
    if (way !== undefined) verdict.learn(way);
    this.#channel = undefined;
    return { era: "legacy", connection };
  }

  /** The handshake over Streamable HTTP, and where there is nothing of the kind, over HTTP+SSE of 2024-11-05. */
  async #asLegacyHttp(channel: Channel, offer?: string): Promise<Met> {
    const remembered = this.#pin === undefined;
    try {
      return await this.#asLegacy(channel, remembered ? "http" : undefined, offer);
    } catch (first) {
      if (!isElsewhere(first)) throw first;
      try {
        return await this.#asLegacy(await this.#open("sse"), remembered ? "sse" : undefined);
      } catch (second) {
        // What the newer transport said explains more, unless there was an older one and it failed later.
        throw isElsewhere(second) || isUnreachable(second) ? first : second;
      }
    }
  }

  /**
   * On a pipe silence may also mean that the server is still starting. So `initialize` goes in behind the
   * unanswered probe, in the same process, and whichever is answered first decides.
   */
  async #probePipe(channel: Channel): Promise<Met> {
    const giveUp = new AbortController();
    const stop = (): void => giveUp.abort();
    this.#signal.addEventListener("abort", stop, { once: true });
    try {
      const probing = settle(this.#probe(channel, giveUp.signal));
      const first = await within(SILENCE_MS, probing);
      if (first !== undefined) return await this.#asFound(channel, first);
      const shaking = settle(this.#asLegacy(channel, "stdio", undefined, giveUp.signal));
      const won = await Promise.race([probing, shaking]);
      if (won.ok) {
        const { value } = won;
        if (isMet(value)) return value;
        if (value.era === "modern") return this.#asModern(channel, value);
      }
      // The first word was no yes. A refused handshake leaves the probe to be answered, and the other way round.
      const [probed, shaken] = await Promise.all([probing, shaking]);
      if (shaken.ok) return shaken.value;
      if (probed.ok && probed.value.era === "modern") return this.#asModern(channel, probed.value);
      throw shaken.error;
    } finally {
      this.#signal.removeEventListener("abort", stop);
      giveUp.abort();
    }
  }

  async #asFound(channel: Channel, found: Settled<Finding>): Promise<Met> {
    if (!found.ok) throw found.error;
    return found.value.era === "modern"
      ? this.#asModern(channel, found.value)
      : await this.#asLegacy(channel, "stdio", found.value.revision);
  }
}

/** The server answered `initialize` without opening a session. */
export class NoSession extends Error {
  override readonly name = "NoSession";
}

type ModernFinding = Extract<Finding, { readonly era: "modern" }>;

const isMet = (value: Finding | Met): value is Met => "connection" in value;

const hasEnded = (error: unknown): boolean =>
  error instanceof GatewayError && (error.code === "upstream_closed" || hasEnded(error.cause));

/** The status says that this transport is not spoken at this URL (2025-11-25, transports, "Backwards Compatibility"). */
function isElsewhere(error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : error;
  if (!(cause instanceof HttpStatusError || cause instanceof HandshakeRefused)) return false;
  return cause.status === 400 || cause.status === 404 || cause.status === 405;
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.code === "upstream_unavailable" || error.code === "upstream_rejected");

/** Whatever went wrong, the server is not there for those who wait for it. */
function explained({ name }: ServerConfig, error: unknown): unknown {
  if (error instanceof HandshakeRefused) {
    return unavailable(name, `${name} refused initialize: ${error.error.message}`, error);
  }
  if (!(error instanceof GatewayError)) return error;
  if (error.code === "upstream_closed") return unavailable(name, error.message, error);
  if (error.code !== "upstream_rejected") return error;
  const { message, options } = error;
  return new GatewayError("upstream_unavailable", "upstream", message, { ...options, retryable: false });
}

function tooLate({ name }: ServerConfig, withinMs: number, words: string): GatewayError {
  const said = words === "" ? "" : `; its last words: ${words}`;
  return unavailable(name, `${name} did not answer within ${withinMs / 1000} s${said}`);
}

const gaveUp = (): GatewayError =>
  new GatewayError("cancelled", "gateway", "the attempt to connect was given up");

const unavailable = (server: string, sentence: string, cause?: unknown): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", sentence, { server, cause, retryable: true });
