/** What one session hears between its calls: lists that changed, and the resources it follows. */
import type { Change, ChangeFeed, Interest } from "../../core/change.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { KEEPS_ALL, type KeptShare } from "../../core/kept-budget.js";
import type { ListKind } from "../../core/upstream.js";
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";
import type { Outlet } from "./place.js";
import { noticeText } from "./text.js";

/** Resources one session may follow at once, and characters that their URIs may have together. */
const MAX_FOLLOWED = 1000;
const MAX_CHARACTERS = 262_144;

export class Subscriptions {
  #lists: ReadonlySet<ListKind> = NOTHING;
  #resources: ReadonlySet<string> = NOTHING;
  /** What is not answered yet, by URI. */
  #asking: Map<string, Promise<void>> | undefined;
  #stopLists: () => void = noStop;
  #stopResources: () => void = noStop;
  #client: Client;
  #closed = false;
  /** What is taken of `kept`, in characters. */
  #held = 0;

  constructor(
    private readonly feed: ChangeFeed,
    client: Client,
    private readonly outlet: Outlet,
    private readonly kept: KeptShare = KEEPS_ALL,
  ) {
    this.#client = client;
  }

  /** From now on what this client may see decides what is told. */
  hearFor(client: Client): void {
    this.#client = client;
    this.#hearLists(this.#lists);
    this.#follow(this.#resources, true);
  }

  /** The URIs it follows. */
  get followed(): ReadonlySet<string> {
    return this.#resources;
  }

  /** Begins to tell when one of `lists` changes, as `initialize` promised. */
  promise(lists: ReadonlySet<ListKind>): void {
    this.#hearLists(lists);
  }

  /**
   * Waits for a server that is starting, and for the word of one that may refuse.
   *
   * @throws GatewayError when updates of `uri` could not be delivered, with the words of its server if it refuses;
   * `upstream_unavailable` when its server was never met; `overloaded` when there is no room.
   */
  async follow(uri: string): Promise<void> {
    const asked = this.#asking?.get(uri);
    if (asked !== undefined) return asked;
    if (this.#resources.has(uri)) return;
    this.#checkRoom(uri);
    this.#asking ??= new Map();
    const asking = this.#ask(uri, () => this.#asking?.get(uri) === asking);
    this.#asking.set(uri, asking);
    try {
      await asking;
    } finally {
      if (this.#asking.get(uri) === asking) this.#asking.delete(uri);
    }
  }

  unfollow(uri: string): void {
    this.#asking?.delete(uri);
    if (!this.#resources.has(uri)) return;
    this.#follow(new Set([...this.#resources].filter((followed) => followed !== uri)));
  }

  close(): void {
    this.#closed = true;
    this.kept.give(this.#held);
    this.#held = 0;
    this.#stopLists();
    this.#stopResources();
    this.#stopLists = this.#stopResources = noStop;
  }

  #checkRoom(uri: string): void {
    const uris = [...this.#resources, ...(this.#asking?.keys() ?? [])];
    const characters = uris.reduce((sum, { length }) => sum + length, uri.length);
    if (uris.length < MAX_FOLLOWED && characters <= MAX_CHARACTERS) return;
    const most = `${MAX_FOLLOWED} resources, with ${MAX_CHARACTERS} characters in all their URIs`;
    throw new GatewayError("overloaded", "downstream", `one session may follow at most ${most}`);
  }

  /** `isWanted`: the client has not unsubscribed since. */
  async #ask(uri: string, isWanted: () => boolean): Promise<void> {
    const when = (await this.feed.followable(this.#client, [uri])).get(uri);
    if (when !== "now") throw when === "later" ? absent(uri) : unknown(uri);
    if (!isWanted()) return;
    this.#follow(new Set([...this.#resources, uri]));
    let refused: RpcError | undefined;
    try {
      refused = (await this.feed.refusals?.(this.#client, [uri]))?.get(uri);
    } catch (error) {
      this.unfollow(uri);
      throw error;
    }
    if (refused === undefined) return;
    if (isWanted()) this.unfollow(uri);
    throw new GatewayError("unknown_target", "upstream", refused.message, {
      rpc: codeOf(refused),
      data: { uri },
    });
  }

  #hearLists(lists: ReadonlySet<ListKind>): void {
    this.#lists = lists;
    this.#stopLists = this.#replace(this.#stopLists, { lists, resources: NOTHING });
  }

  /** `partly`: what cannot be followed at the moment is tried again later. @throws GatewayError `overloaded` */
  #follow(resources: ReadonlySet<string>, partly = false): void {
    if (this.#closed) return;
    this.#hold(resources);
    try {
      this.#stopResources = this.#replace(this.#stopResources, { lists: NOTHING, resources, partly });
      this.#resources = resources;
    } finally {
      this.#hold(this.#resources);
    }
  }

  /** @throws GatewayError `overloaded` when the principal may keep no more */
  #hold(resources: ReadonlySet<string>): void {
    const wanted = charactersOf(resources);
    if (wanted > this.#held && !this.kept.take(wanted - this.#held)) throw tooMuchKept();
    if (wanted < this.#held) this.kept.give(this.#held - wanted);
    this.#held = wanted;
  }

  /**
   * The new subscription begins before the old one ends, so that no server is told to stop and start again; and where
   * it cannot begin, everything is as before.
   */
  #replace(stopOld: () => void, interest: Interest): () => void {
    if (this.#closed) return noStop;
    const wanted = interest.lists.size > 0 || interest.resources.size > 0;
    const stop = wanted
      ? this.feed.subscribe(this.#client, interest, (change) => this.#tell(change))
      : noStop;
    stopOld();
    return stop;
  }

  #tell(change: Change): void {
    if (change.kind === "list") this.outlet.say(noticeText(LIST_CHANGED[change.list]));
    else if (change.kind === "resource")
      this.outlet.say(noticeText("notifications/resources/updated", { uri: change.uri }));
    // This era has no word for it; a client that subscribes once more is told why not.
    else {
      this.#resources = new Set([...this.#resources].filter((uri) => uri !== change.uri));
      this.#hold(this.#resources);
    }
  }
}

/** With what is kept beside each of them. */
const charactersOf = (uris: ReadonlySet<string>): number =>
  [...uris].reduce((sum, { length }) => sum + length + BESIDE, 0);
const BESIDE = 500;

const tooMuchKept = (): GatewayError =>
  new GatewayError("overloaded", "downstream", "your sessions follow too many resources already");

const unknown = (uri: string): GatewayError =>
  new GatewayError("unknown_target", "downstream", "no server would tell of updates of this resource", {
    rpc: CODE.methodNotFound,
    data: { uri },
  });

const absent = (uri: string): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", "the server of this resource is not there yet", {
    retryable: true,
    data: { uri },
  });

/** Each session has subscriptions, and most follow nothing. */
const NOTHING: ReadonlySet<never> = new Set();
const noStop = (): void => {};

const LIST_CHANGED: Readonly<Record<ListKind, string>> = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
  // Templates have no notification of their own; hosts list both again.
  resourceTemplates: "notifications/resources/list_changed",
};
