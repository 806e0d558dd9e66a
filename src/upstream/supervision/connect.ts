/** How is a connection to a server opened? Over a channel, by probe or handshake, whichever era the server is of. */
import type { ServerConfig } from "../../config/config.js";
import { inBackground } from "../../core/logger.js";
import { type Settled, type StopSignal, settle, unlessAborted, withTimeout } from "../../core/stop.js";
import type { JsonObject } from "../../wire/json.js";
import { LEGACY_REVISIONS } from "../../wire/names.js";
import type { Connection, ProtocolSettings } from "../connection.js";
import { LegacyConnection } from "../legacy/connection.js";
import { HandshakeRefused } from "../legacy/session.js";
import type { LegacySettings } from "../legacy/settings.js";
import { type AdvertisedFor, ModernConnection } from "../modern/connection.js";
import { type ProbeResult, probe } from "../modern/probe.js";
import { capabilitiesForRevision } from "../protocol/advertised-capabilities.js";
import type { Channel } from "../transport/channel.js";
import type { ChannelCredentials } from "../transport/request-authorization.js";
import {
  asUnavailable,
  connectCancelled,
  connectTimedOut,
  hasClosed,
  isUnreachable,
  isWrongTransport,
  NoSessionError,
  unavailable,
} from "./connect-errors.js";
import { type EraCache, type Pin, pinOf, type TransportKind } from "./era-cache.js";

/** Opens a channel to `server` over the transport; `signal` aborts the attempt. `credentials`: those of its requests. */
export type OpenChannel = (
  transportKind: TransportKind,
  server: ServerConfig,
  signal: StopSignal,
  credentials?: ChannelCredentials,
) => Promise<Channel>;

/** What is needed to connect to a server whose era is not known. */
export interface ConnectSettings {
  readonly server: ServerConfig;
  readonly openChannel: OpenChannel;
  readonly eraCache: EraCache;
  /** What the connection needs in either era. */
  readonly protocol: ProtocolSettings;
  /** What it needs beside that where the server turns out to be a legacy one. */
  readonly legacy: LegacySettings;
  /** The credentials of all requests over the connection. Default: none but those of the config. */
  readonly credentials?: ChannelCredentials | undefined;
  /** The client capabilities that a legacy server is offered. */
  readonly advertised: JsonObject;
  /**
   * True where a modern server gets `initialize` nevertheless, for a client that keeps a session. Then nothing is
   * cached for the shared connection.
   */
  readonly session?: boolean;
  /** The client capabilities that a modern server gets with each request. */
  readonly advertisedFor: AdvertisedFor;
}

/** An open connection and its era. */
export interface Connected {
  readonly era: "legacy" | "modern";
  readonly connection: Connection;
}

/** The timeout (ms) of opening a session at a modern server over HTTP, which may not support sessions. */
const SESSION_TIMEOUT_MS = 10_000;
/** After this silence (ms) on a pipe, `initialize` is sent behind the probe. */
const PROBE_SILENCE_MS = 3_000;

/**
 * Opens a connection.
 *
 * @throws GatewayError `upstream_unavailable`, with the last line of stderr, when that fails or takes longer than the
 * server's `connectTimeout`; `cancelled` when `signal` aborts.
 */
export async function connect(given: ConnectSettings, signal: StopSignal): Promise<Connected> {
  const settings = forFirstStart(given);
  const { server, eraCache } = settings;
  const limit = new AbortController();
  const stop = (): void => limit.abort(signal.reason);
  const limitMs =
    settings.session === true && server.transport.kind === "http"
      ? SESSION_TIMEOUT_MS
      : Number.POSITIVE_INFINITY;
  const withinMs = Math.min(server.connectTimeoutMs, limitMs);
  const timer = setTimeout(() => limit.abort(), withinMs);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const attempt = new HandshakeAttempt(settings, limit.signal);
  try {
    const connected = await (server.transport.kind === "stdio" ? attempt.overStdio() : attempt.overHttp());
    eraCache.hasConnected = true;
    return connected;
  } catch (error) {
    const lines = attempt.stderrLines();
    await attempt.closeChannel();
    if (limit.signal.aborted && !signal.aborted) throw connectTimedOut(server, withinMs, lines);
    throw asUnavailable(server, error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Until a server was connected once, its command may have to fetch its package. */
function forFirstStart(settings: ConnectSettings): ConnectSettings {
  const { server, eraCache } = settings;
  const { firstConnectTimeoutMs } = server;
  if (firstConnectTimeoutMs === undefined || eraCache.hasConnected) return settings;
  return { ...settings, server: { ...server, connectTimeoutMs: firstConnectTimeoutMs } };
}

/** One attempt to connect, with at most one open channel. */
class HandshakeAttempt {
  readonly #settings: ConnectSettings;
  readonly #signal: StopSignal;
  readonly #pin: Pin | undefined;
  #channel: Channel | undefined;
  /** A process that is starting; it is ended when the attempt is aborted meanwhile. */
  #spawning: Promise<Channel> | undefined;

  constructor(settings: ConnectSettings, signal: StopSignal) {
    this.#settings = settings;
    this.#signal = signal;
    this.#pin = pinOf(settings.server.protocol);
  }

  async overStdio(): Promise<Connected> {
    const { eraCache } = this.#settings;
    const channel = await this.#open("stdio");
    if (this.#settings.session === true) return this.#connectLegacy(channel, undefined);
    if (this.#pin !== undefined) return this.#connectPinned(channel, this.#pin);
    const known = eraCache.legacy;
    if (known !== undefined) return this.#connectCached(channel, "stdio", known.confirmed);
    try {
      return await this.#probeStdio(channel);
    } catch (error) {
      // Some legacy servers exit when the first message is not `initialize`.
      if (!hasClosed(error)) throw error;
      if (eraCache.isModern) {
        eraCache.forget();
        throw error;
      }
      eraCache.learn("stdio", false);
      return await this.#connectLegacy(await this.#open("stdio"), "stdio");
    }
  }

  async overHttp(): Promise<Connected> {
    const { server, eraCache, session } = this.#settings;
    if (session === true) return this.#connectWithSession(await this.#open("http"));
    if (this.#pin?.era === "modern") return this.#connectPinned(await this.#open("http"), this.#pin);
    const prefersSse = server.transport.kind === "http" && server.transport.sse;
    const known = eraCache.legacy;
    if (prefersSse || known?.transport === "sse") {
      try {
        return await this.#connectLegacy(await this.#open("sse"), "sse");
      } catch (error) {
        if (!isWrongTransport(error)) throw error;
        eraCache.forget();
      }
    }
    const channel = await this.#open("http");
    if (this.#pin?.era === "legacy") return this.#connectLegacyHttp(channel);
    if (eraCache.legacy !== undefined) return this.#connectCached(channel, "http", true);
    const found = await this.#probe(channel);
    return found.era === "modern"
      ? this.#connectModern(channel, found)
      : this.#connectLegacyHttp(channel, found.revision);
  }

  /** The last lines that the process wrote to stderr. */
  stderrLines(): readonly string[] {
    const text = this.#channel?.stderr?.trimEnd() ?? "";
    return text === "" ? [] : text.split("\n");
  }

  /** Closes the channel, and waits for the end of its process, so that there are never two. */
  async closeChannel(): Promise<void> {
    const { protocol, server } = this.#settings;
    const starting = this.#spawning?.catch(() => undefined);
    this.#spawning = undefined;
    const channel = this.#channel ?? (await starting);
    this.#channel = undefined;
    await channel
      ?.close()
      .catch((error: unknown) =>
        protocol.log.debug({ server: server.name, error }, "a channel failed to close"),
      );
  }

  async #open(transportKind: TransportKind): Promise<Channel> {
    await this.closeChannel();
    const { openChannel, server, credentials } = this.#settings;
    // The attempt may have been aborted while it waited for the end of the previous channel.
    if (this.#signal.aborted) throw connectCancelled();
    const opening = openChannel(transportKind, server, this.#signal, credentials);
    if (transportKind === "stdio") this.#spawning = opening;
    const endLate = (late: Channel): void => {
      if (transportKind !== "stdio")
        inBackground(late.close(), this.#settings.protocol.log, "closing a channel");
    };
    const channel = await unlessAborted(opening, this.#signal, connectCancelled, endLate);
    this.#spawning = undefined;
    this.#channel = channel;
    return channel;
  }

  #probe(channel: Channel, signal = this.#signal): Promise<ProbeResult> {
    return probe(channel, { ...this.#settings.protocol, signal });
  }

  async #connectPinned(channel: Channel, pin: Pin): Promise<Connected> {
    if (pin.era === "legacy") return this.#connectLegacy(channel, undefined);
    const found = await this.#probe(channel);
    if (found.era === "modern") return this.#connectModern(channel, found);
    const { name } = this.#settings.server;
    throw unavailable(name, `${name} does not speak 2026-07-28, which the config pins (protocol)`);
  }

  /** The handshake without a probe. A server that refuses it may have been replaced by a modern one. */
  async #connectCached(
    channel: Channel,
    transportKind: "stdio" | "http",
    confirmed: boolean,
  ): Promise<Connected> {
    const { eraCache } = this.#settings;
    try {
      return await (transportKind === "http"
        ? this.#connectLegacyHttp(channel)
        : this.#connectLegacy(channel, transportKind));
    } catch (error) {
      if (!confirmed) eraCache.forget();
      if (!(error instanceof HandshakeRefused)) throw error;
      eraCache.forget();
      const open = this.#channel === channel ? channel : await this.#open(transportKind);
      const found = await this.#probe(open);
      if (found.era === "modern") return this.#connectModern(open, found);
      throw error;
    }
  }

  #connectModern(channel: Channel, found: ModernProbeResult): Connected {
    const { protocol, eraCache, advertisedFor } = this.#settings;
    eraCache.learnModern();
    this.#channel = undefined;
    const connection = new ModernConnection(channel, protocol, found.facts, advertisedFor);
    return { era: "modern", connection };
  }

  /**
   * Opens a session at a modern server. Over HTTP a server that assigns no session id keeps no state between requests:
   * it can neither ask questions nor notify changes, and its clients are served better over the shared connection.
   */
  async #connectWithSession(channel: Channel): Promise<Connected> {
    const connected = await this.#connectLegacy(channel, undefined);
    if (connected.connection.keepsSession !== false) return connected;
    await connected.connection.close();
    const { name } = this.#settings.server;
    throw unavailable(name, `${name} answered initialize and keeps no session`, new NoSessionError());
  }

  /** Caches `transportKind` on success; undefined where nothing is to be cached, as the config decides. */
  async #connectLegacy(
    channel: Channel,
    transportKind: TransportKind | undefined,
    offer?: string,
    signal = this.#signal,
  ): Promise<Connected> {
    const { server, eraCache, protocol, legacy, advertised } = this.#settings;
    const revision = offer ?? (this.#pin?.era === "legacy" ? this.#pin.revision : LEGACY_REVISIONS[0]);
    const offered = {
      revision,
      advertised: capabilitiesForRevision(revision, advertised),
      timeoutMs: server.connectTimeoutMs,
    };
    const connection = await LegacyConnection.open(channel, protocol, legacy, offered, signal);
    if (transportKind !== undefined) eraCache.learn(transportKind);
    this.#channel = undefined;
    return { era: "legacy", connection };
  }

  /** The handshake over Streamable HTTP; where the server does not support that, over HTTP+SSE of 2024-11-05. */
  async #connectLegacyHttp(channel: Channel, offer?: string): Promise<Connected> {
    const remembered = this.#pin === undefined;
    try {
      return await this.#connectLegacy(channel, remembered ? "http" : undefined, offer);
    } catch (first) {
      if (!isWrongTransport(first)) throw first;
      try {
        return await this.#connectLegacy(await this.#open("sse"), remembered ? "sse" : undefined);
      } catch (second) {
        // The first error explains more, unless the server has the older transport and failed over that.
        throw isWrongTransport(second) || isUnreachable(second) ? first : second;
      }
    }
  }

  /**
   * On a pipe, silence may also mean that the server is still starting. So after a while `initialize` is sent behind
   * the unanswered probe, in the same process, and the first answer decides. A server that answered the probe before
   * gets no `initialize`, unless it is silent for the whole `connectTimeout`.
   */
  async #probeStdio(channel: Channel): Promise<Connected> {
    const { eraCache } = this.#settings;
    const giveUp = new AbortController();
    const wasModern = eraCache.isModern;
    const stop = (): void => {
      // What this attempt has found out helps the next one.
      if (wasModern) eraCache.forget();
      giveUp.abort();
    };
    this.#signal.addEventListener("abort", stop, { once: true });
    try {
      const probing = settle(this.#probe(channel, giveUp.signal));
      const first = await (wasModern ? probing : withTimeout(PROBE_SILENCE_MS, probing));
      if (first !== undefined) return await this.#connectProbed(channel, first);
      const handshaking = settle(this.#connectLegacy(channel, "stdio", undefined, giveUp.signal));
      const won = await Promise.race([probing, handshaking]);
      if (won.ok) {
        const { value } = won;
        if (isConnected(value)) return value;
        if (value.era === "modern") return await this.#connectSlowModern(channel, value, handshaking, giveUp);
      }
      // The first answer was a refusal; the other one decides.
      const [probed, handshaken] = await Promise.all([probing, handshaking]);
      if (handshaken.ok) return handshaken.value;
      if (probed.ok && probed.value.era === "modern") return this.#connectModern(channel, probed.value);
      throw handshaken.error;
    } finally {
      this.#signal.removeEventListener("abort", stop);
      giveUp.abort();
    }
  }

  /**
   * Keeps the process of a modern server that refuses the `initialize` behind the probe. One that serves both eras may
   * serve the other one from then on, as servers of the TypeScript SDK do: it is started again, and gets the probe alone.
   */
  async #connectSlowModern(
    channel: Channel,
    found: ModernProbeResult,
    handshaking: Promise<Settled<Connected>>,
    giveUp: AbortController,
  ): Promise<Connected> {
    const handshaken = await withTimeout(PROBE_SILENCE_MS, handshaking);
    if (handshaken?.ok === false && handshaken.error instanceof HandshakeRefused)
      return this.#connectModern(channel, found);
    giveUp.abort();
    this.#settings.eraCache.learnModern();
    if (handshaken?.ok === true) await handshaken.value.connection.close();
    const fresh = await this.#open("stdio");
    return this.#connectProbed(fresh, await settle(this.#probe(fresh)));
  }

  async #connectProbed(channel: Channel, found: Settled<ProbeResult>): Promise<Connected> {
    if (!found.ok) throw found.error;
    return found.value.era === "modern"
      ? this.#connectModern(channel, found.value)
      : await this.#connectLegacy(channel, "stdio", found.value.revision);
  }
}

type ModernProbeResult = Extract<ProbeResult, { readonly era: "modern" }>;

const isConnected = (value: ProbeResult | Connected): value is Connected => "connection" in value;
