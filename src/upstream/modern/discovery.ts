/** What is known of a 2026-07-28 server by `server/discover`, and is it still the same? Without a session only this shows it. */
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { ServerFacts } from "../../core/upstream.js";
import { codeOf } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { canonicalText } from "../../wire/json-text.js";
import { CODE } from "../../wire/names.js";
import { isModernRefusal } from "../protocol/open-calls.js";
import type { ChannelResponse } from "../transport/channel.js";
import { CapabilityCache, readCapabilities, readFacts } from "./probe.js";

/** The timeout (ms) of `server/discover` on an open connection. */
const DISCOVER_TIMEOUT_MS = 5_000;

/** How a server is asked, and what is called for its answers. */
export interface DiscoverySettings {
  readonly server: string;
  readonly log: Logger;
  /** Sends `server/discover` with these client capabilities. */
  readonly send: (capabilities: JsonObject, signal: StopSignal) => Promise<ChannelResponse>;
  /** The server has other capabilities than before. */
  readonly onChanged: () => void;
  /** The server was replaced by one of another revision: the connection ends for this reason. */
  readonly onReplaced: (reason: GatewayError) => void;
}

/** The facts of the server of one connection, which are read again when an answer shows that it may be another one. */
export class Discovery {
  readonly #settings: DiscoverySettings;
  readonly #cache: CapabilityCache;
  #facts: ServerFacts;
  #isPending = false;

  /** Begins with the facts of the probe. */
  constructor(facts: ServerFacts, settings: DiscoverySettings) {
    this.#settings = settings;
    this.#facts = facts;
    this.#cache = new CapabilityCache(facts.capabilities, (advertised) => this.#capabilities(advertised));
  }

  get facts(): ServerFacts {
    return this.#facts;
  }

  /** The capabilities of the server for clients with `advertised`. */
  capabilitiesFor(advertised: JsonObject): Promise<JsonObject> {
    return this.#cache.capabilitiesFor(advertised);
  }

  /** Any response shows that the server is alive, most errors too; a result updates the facts. */
  async check(signal: StopSignal): Promise<void> {
    const answer = await this.#settings.send({}, signal);
    const { result, error } = answer.message;
    if (Array.isArray(result?.supportedVersions)) this.#update(readFacts(result));
    else if (error?.code === CODE.methodNotFound || isLegacyRefusal(answer)) throw this.#replaced();
  }

  /** Asks again where the server may have been replaced. @throws GatewayError when the error shows that it was. */
  read(answer: ChannelResponse): void {
    if (answer.message.error?.code === CODE.unsupportedProtocolVersion) throw this.#replaced();
    if (isLegacyRefusal(answer)) this.refresh();
  }

  /** Sends `server/discover`, unless one is pending. */
  refresh(): void {
    if (this.#isPending) return;
    this.#isPending = true;
    const { server, log } = this.#settings;
    this.check(AbortSignal.timeout(DISCOVER_TIMEOUT_MS))
      .catch((error: unknown) => log.debug({ server, error }, "server/discover failed"))
      .finally(() => {
        this.#isPending = false;
      });
  }

  async #capabilities(advertised: JsonObject): Promise<JsonObject> {
    const signal = AbortSignal.timeout(DISCOVER_TIMEOUT_MS);
    const { message } = await this.#settings.send(advertised, signal);
    if (message.result === undefined) throw new TypeError("the server answered with an error");
    return readCapabilities(message.result);
  }

  #update(facts: ServerFacts): void {
    const before = this.#facts;
    this.#facts = facts;
    if (canonicalText(facts.capabilities) === canonicalText(before.capabilities)) return;
    this.#cache.reset(facts.capabilities);
    this.#settings.onChanged();
  }

  #replaced(): GatewayError {
    const { server, onReplaced } = this.#settings;
    const sentence = `${server} no longer speaks the protocol revision of this connection`;
    const error = new GatewayError("upstream_unavailable", "upstream", sentence, { server, retryable: true });
    onReplaced(error);
    return error;
  }
}

/**
 * Whether a request was refused as legacy servers refuse unknown requests. Servers of this era use codes of their own
 * for that, or -32602 (basic/transports/streamable-http, "Server Validation").
 */
const isLegacyRefusal = ({ status, message: { error } }: ChannelResponse): boolean =>
  status === 400 && error !== undefined && codeOf(error) !== CODE.invalidParams && !isModernRefusal(error);
