/** What is known of one server: its era, its facts, whether it opens sessions, and whose credentials it wants. */
import type { ServerConfig } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import type { SignInListener } from "../../core/credentials.js";
import type { ServerFacts } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import { advertisedToModern, relayable } from "../protocol/advertised-capabilities.js";
import type { Connected } from "../supervision/connect.js";
import type { UpstreamSettings } from "../supervision/options.js";
import { SharedEra } from "../supervision/shared-era.js";
import { writeMemory } from "../supervision/upstream-memory.js";
import type { PlanFacts } from "./connection-plan.js";
import { ServerCredentials } from "./server-credentials.js";
import { SessionChoice } from "./session-choice.js";

/** Called when clients may use other connections than before. */
export interface PlanChanges {
  /** The server turned out to open no sessions: from now on all clients share one connection. */
  readonly onSessionsRefused: () => void;
  /** The server turned out to want credentials. */
  readonly onCredentialsNeeded: () => void;
  /** Credentials of some id have come or gone. */
  readonly onCredentialsChanged: SignInListener;
}

/** Begins with what an earlier process or another replica knew, and learns from each connection. */
export class KnownServer implements PlanFacts {
  readonly lease: ServerConfig["lease"];
  readonly credentials: ServerCredentials;
  readonly sessions: SessionChoice;
  readonly sharedEra: SharedEra;
  /** What each request to a modern server advertises for its client. */
  readonly advertisedInRequests: (client: Client) => JsonObject;
  readonly #isAggregated: () => boolean;
  #era: Connected["era"] | undefined;
  #facts: ServerFacts | undefined;
  #wasConnected = false;

  constructor(server: ServerConfig, settings: UpstreamSettings, changes: PlanChanges) {
    const { log, gateway, memory, others } = settings;
    this.lease = server.lease;
    this.sharedEra = new SharedEra(server, others, memory?.eraCache);
    this.#era = memory?.era;
    this.#facts = memory?.facts;
    this.#isAggregated = gateway.isAggregated;
    this.advertisedInRequests = advertisedToModern(gateway.isAggregated);
    this.sessions = new SessionChoice({
      server,
      eraCache: this.sharedEra.cache,
      log,
      facts: memory?.sessionFacts,
      onRefused: changes.onSessionsRefused,
    });
    this.credentials = new ServerCredentials(server, {
      store: settings.credentials,
      areNeeded: memory?.needsCredentials === true,
      onNeeded: changes.onCredentialsNeeded,
      onChanged: changes.onCredentialsChanged,
    });
  }

  /** The era of the shared connection when it was last opened; undefined where it never was, in memory neither. */
  get era(): Connected["era"] | undefined {
    return this.#era;
  }

  /** Its facts at that time. */
  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  /** Whether the shared connection was open in this process. */
  get wasConnected(): boolean {
    return this.#wasConnected;
  }

  /** Whether `client` is served in a session although the shared connection keeps none. */
  usesSession(client: Client): boolean {
    return this.#era === "modern" && this.sessions.usesSession(client);
  }

  /** The facts of the last session that was opened, where `client` is served in one; undefined otherwise. */
  sessionFacts(client: Client): ServerFacts | undefined {
    return this.usesSession(client) ? this.sessions.facts : undefined;
  }

  advertisedFor(client: Client): JsonObject {
    return relayable(client, this.#isAggregated());
  }

  /** The shared connection is open; returns whether the server has another era than before. */
  learn({ era, connection }: Connected): boolean {
    const before = this.#era;
    this.#wasConnected = true;
    this.#era = era;
    this.#facts = connection.facts;
    this.sharedEra.cache.reconnected();
    return before !== era;
  }

  /** A connection of one principal is open while the era is not known. What the server says to one principal is not for others. */
  learnFromLease({ era, connection }: Connected): void {
    const { capabilities, serverInfo, instance } = connection.facts;
    this.#era = era;
    this.#facts = { capabilities, serverInfo, ...(instance !== undefined && { instance }) };
  }

  /** What an upstream of a later process may begin with; undefined until the shared connection was open. `now`: its facts. */
  memory(now: ServerFacts | undefined): JsonObject | undefined {
    const { cache } = this.sharedEra;
    const { areNeeded } = this.credentials;
    return writeMemory(this.#era, now ?? this.#facts, cache.memory, this.sessions.facts, areNeeded);
  }
}
