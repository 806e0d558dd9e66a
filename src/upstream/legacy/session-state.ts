/** What does a session keep at its server, to be set up again in a new one? Followed resources and the log level. */

import { LOG_LEVELS, type LogLevel, severityOf } from "../../core/call.js";
import type { RpcError } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";

type SubscribeMethod = "resources/subscribe" | "resources/unsubscribe";

/** How a session sends its subscriptions. */
interface SubscriptionSettings {
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  /** Sends one or the other, and resolves to the error that the server answers with; never rejects. */
  readonly send: (method: SubscribeMethod, uri: string) => Promise<RpcError | undefined>;
}

/** The resources followed in one session; each is subscribed to once. */
export class ResourceSubscriptions {
  /** By URI: the server's answer to the subscription. */
  readonly #answers = new Map<string, Promise<RpcError | undefined>>();
  /** By URI: the last request not answered yet. Over HTTP the next one could overtake it. */
  readonly #pending = new Map<string, Promise<unknown>>();
  readonly #settings: SubscriptionSettings;

  constructor(settings: SubscriptionSettings) {
    this.#settings = settings;
  }

  /** The resources that are followed now. */
  get uris(): readonly string[] {
    return [...this.#answers.keys()];
  }

  subscribe(uri: string): void {
    this.#answers.set(uri, this.#send("resources/subscribe", uri));
  }

  unsubscribe(uri: string): void {
    this.#answers.delete(uri);
    // The answer changes nothing: no client follows the resource any longer.
    this.#send("resources/unsubscribe", uri).catch(() => {});
  }

  /** The error with which the server refused; waits for its answer. */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#answers.get(uri);
  }

  /** Subscribes to all resources again, in a new session. */
  resubscribe(): void {
    for (const uri of this.#answers.keys()) this.subscribe(uri);
  }

  async #send(method: SubscribeMethod, uri: string): Promise<RpcError | undefined> {
    // A server that did not advertise `subscribe` would answer with an error.
    if (objectAt(this.#settings.capabilities(), "resources")?.subscribe !== true) return undefined;
    const before = this.#pending.get(uri);
    const { send } = this.#settings;
    const answer = before === undefined ? send(method, uri) : before.then(() => send(method, uri));
    this.#pending.set(uri, answer);
    try {
      return await answer;
    } finally {
      if (this.#pending.get(uri) === answer) this.#pending.delete(uri);
    }
  }
}

/** The most verbose level that a call on the connection has needed. */
export class ConnectionLogLevel {
  readonly #set: (level: LogLevel) => Promise<void>;
  #rank = Number.POSITIVE_INFINITY;
  /** A session that set no level has called; it gets the messages of all levels. */
  #unfiltered = false;

  /** `set` sends a level to the server, and never rejects. */
  constructor(set: (level: LogLevel) => Promise<void>) {
    this.#set = set;
  }

  /**
   * Sets the level before a call with `level`; undefined when the current one is verbose enough. The level never
   * gets less verbose: messages below the level of a call are filtered. A session without a level must not get fewer
   * messages because another client set one; most servers send such a session all messages, so all are requested.
   */
  raise(level: LogLevel | undefined, session: boolean): Promise<void> | undefined {
    if (level === undefined && session) this.#unfiltered = true;
    const untouched = this.#rank === Number.POSITIVE_INFINITY;
    if (level === undefined && (untouched || !session)) return undefined;
    const wanted = this.#unfiltered ? LOG_LEVELS[0] : level;
    const rank = wanted === undefined ? this.#rank : severityOf(wanted);
    if (wanted === undefined || rank >= this.#rank) return undefined;
    this.#rank = rank;
    return this.#set(wanted);
  }

  /** Sets it in a new session; undefined when none was set. */
  renew(): Promise<void> | undefined {
    const level = LOG_LEVELS[this.#rank];
    return level === undefined ? undefined : this.#set(level);
  }
}
