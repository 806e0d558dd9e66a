/** Which changes is one session notified of: its lists, and the resources it subscribed to? */
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { type BudgetShare, UNLIMITED_SHARE } from "../../core/fair-share.js";
import type { Change, ChangeFeed, ChangeFilter } from "../../core/gateway-api.js";
import { LISTS, type ListKind } from "../../core/lists.js";
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";
import { type MessageSink, noticeText } from "./messages.js";

/** Resources one session may follow at once, and characters that their URIs may have together. */
const MAX_SUBSCRIBED = 1000;
const MAX_CHARACTERS = 262_144;

/** What one session subscribes to: list changes and resources. */
export class Subscriptions {
  #lists: ReadonlySet<ListKind> = EMPTY_SET;
  #resources: ReadonlySet<string> = EMPTY_SET;
  /** What is not answered yet, by URI. */
  #pending: Map<string, Promise<void>> | undefined;
  #stopLists: () => void = noStop;
  #stopResources: () => void = noStop;
  #client: Client;
  #closed = false;
  /** What is taken of `memoryShare`, in characters. */
  #reserved = 0;

  constructor(
    private readonly feed: ChangeFeed,
    client: Client,
    private readonly sink: MessageSink,
    private readonly memoryShare: BudgetShare = UNLIMITED_SHARE,
  ) {
    this.#client = client;
  }

  /** From now on the rights of this client decide which changes are sent. */
  updateClient(client: Client): void {
    this.#client = client;
    this.#setLists(this.#lists);
    this.#setResources(this.#resources, true);
  }

  get subscribedResources(): ReadonlySet<string> {
    return this.#resources;
  }

  /** Starts the notifications for `lists`, as `initialize` advertised. */
  watchLists(lists: ReadonlySet<ListKind>): void {
    this.#setLists(lists);
  }

  /**
   * Waits for a server that is starting, and for the word of one that may refuse.
   *
   * @throws GatewayError when updates of `uri` could not be delivered, with the words of its server if it refuses;
   * `upstream_unavailable` when its server was never met; `overloaded` when there is no room.
   */
  async subscribeResource(uri: string): Promise<void> {
    const asked = this.#pending?.get(uri);
    if (asked !== undefined) return asked;
    if (this.#resources.has(uri)) return;
    this.#checkLimits(uri);
    this.#pending ??= new Map();
    const pending = this.#requestSubscription(uri, () => this.#pending?.get(uri) === pending);
    this.#pending.set(uri, pending);
    try {
      await pending;
    } finally {
      if (this.#pending.get(uri) === pending) this.#pending.delete(uri);
    }
  }

  unsubscribeResource(uri: string): void {
    this.#pending?.delete(uri);
    if (!this.#resources.has(uri)) return;
    this.#setResources(new Set([...this.#resources].filter((followed) => followed !== uri)));
  }

  close(): void {
    this.#closed = true;
    this.memoryShare.release(this.#reserved);
    this.#reserved = 0;
    this.#stopLists();
    this.#stopResources();
    this.#stopLists = this.#stopResources = noStop;
  }

  #checkLimits(uri: string): void {
    const uris = [...this.#resources, ...(this.#pending?.keys() ?? [])];
    const characters = uris.reduce((sum, { length }) => sum + length, uri.length);
    if (uris.length < MAX_SUBSCRIBED && characters <= MAX_CHARACTERS) return;
    const most = `${MAX_SUBSCRIBED} resources, with ${MAX_CHARACTERS} characters in all their URIs`;
    throw new GatewayError("overloaded", "downstream", `one session may subscribe to at most ${most}`);
  }

  /** `isWanted`: the client has not unsubscribed since. */
  async #requestSubscription(uri: string, isWanted: () => boolean): Promise<void> {
    const when = (await this.feed.followable(this.#client, [uri])).get(uri);
    if (when !== "now") throw when === "later" ? absent(uri) : unknown(uri);
    if (!isWanted()) return;
    this.#setResources(new Set([...this.#resources, uri]));
    let refused: RpcError | undefined;
    try {
      refused = (await this.feed.refusals?.(this.#client, [uri]))?.get(uri);
    } catch (error) {
      this.unsubscribeResource(uri);
      throw error;
    }
    if (refused === undefined) return;
    if (isWanted()) this.unsubscribeResource(uri);
    throw new GatewayError("unknown_target", "upstream", refused.message, {
      rpc: codeOf(refused),
      data: { uri },
    });
  }

  #setLists(lists: ReadonlySet<ListKind>): void {
    this.#lists = lists;
    this.#stopLists = this.#replace(this.#stopLists, { lists, resources: EMPTY_SET });
  }

  /** `partly`: what cannot be followed at the moment is tried again later. @throws GatewayError `overloaded` */
  #setResources(resources: ReadonlySet<string>, allowPartial = false): void {
    if (this.#closed) return;
    this.#reserve(resources);
    try {
      this.#stopResources = this.#replace(this.#stopResources, { lists: EMPTY_SET, resources, allowPartial });
      this.#resources = resources;
    } finally {
      this.#reserve(this.#resources);
    }
  }

  /** @throws GatewayError `overloaded` when the principal may keep no more */
  #reserve(resources: ReadonlySet<string>): void {
    const wanted = charactersOf(resources);
    if (wanted > this.#reserved && !this.memoryShare.reserve(wanted - this.#reserved))
      throw tooManyResources();
    if (wanted < this.#reserved) this.memoryShare.release(this.#reserved - wanted);
    this.#reserved = wanted;
  }

  /**
   * The new subscription begins before the old one ends, so that no server gets an unsubscribe and a subscribe; where it
   * fails, the old one stays.
   */
  #replace(stopOld: () => void, interest: ChangeFilter): () => void {
    if (this.#closed) return noStop;
    const wanted = interest.lists.size > 0 || interest.resources.size > 0;
    const stop = wanted
      ? this.feed.subscribe(this.#client, interest, (change) => this.#notify(change))
      : noStop;
    stopOld();
    return stop;
  }

  #notify(change: Change): void {
    if (change.kind === "list") this.sink.send(noticeText(LISTS[change.list].changed));
    else if (change.kind === "resource")
      this.sink.send(noticeText("notifications/resources/updated", { uri: change.uri }));
    // This era has no notification for it; a client that subscribes again gets the reason as an error.
    else {
      this.#resources = new Set([...this.#resources].filter((uri) => uri !== change.uri));
      this.#reserve(this.#resources);
    }
  }
}

/** With what is kept beside each of them. */
const charactersOf = (uris: ReadonlySet<string>): number =>
  [...uris].reduce((sum, { length }) => sum + length + OVERHEAD_PER_URI, 0);
const OVERHEAD_PER_URI = 500;

const tooManyResources = (): GatewayError =>
  new GatewayError("overloaded", "downstream", "too many resource subscriptions for this principal");

const unknown = (uri: string): GatewayError =>
  new GatewayError("unknown_target", "downstream", "no server supports updates of this resource", {
    rpc: CODE.methodNotFound,
    data: { uri },
  });

const absent = (uri: string): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", "the server of this resource is not connected yet", {
    retryable: true,
    data: { uri },
  });

/** Each session has subscriptions, and most follow nothing. */
const EMPTY_SET: ReadonlySet<never> = new Set();
const noStop = (): void => {};
