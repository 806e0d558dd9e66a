/** What one session hears between its calls: lists that changed, and the resources it follows. */
import type { Change, ChangeFeed } from "../../core/change.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { ListKind } from "../../core/upstream.js";
import { CODE } from "../../wire/names.js";
import type { Outlet } from "./place.js";
import { noticeText } from "./text.js";

/** Resources one session may follow at once, and characters that their URIs may have together. */
const MAX_FOLLOWED = 1000;
const MAX_CHARACTERS = 262_144;

export class Subscriptions {
  #lists: ReadonlySet<ListKind> = NOTHING;
  #resources: ReadonlySet<string> = NOTHING;
  #stop: () => void = noStop;
  #client: Client;
  #closed = false;

  constructor(
    private readonly feed: ChangeFeed,
    client: Client,
    private readonly outlet: Outlet,
  ) {
    this.#client = client;
  }

  /** From now on what this client may see decides what is told. */
  hearFor(client: Client): void {
    this.#client = client;
    this.#subscribe(this.#lists, this.#resources);
  }

  /** The URIs it follows. */
  get followed(): ReadonlySet<string> {
    return this.#resources;
  }

  /** Begins to tell when one of `lists` changes, as `initialize` promised. */
  promise(lists: ReadonlySet<ListKind>): void {
    this.#subscribe(lists, this.#resources);
  }

  /**
   * @throws GatewayError when updates of `uri` could not be delivered, with the words of its server if it refuses;
   * `overloaded` when there is no room.
   */
  async follow(uri: string): Promise<void> {
    if (this.#resources.has(uri)) return;
    const characters = [...this.#resources].reduce((sum, { length }) => sum + length, uri.length);
    if (this.#resources.size >= MAX_FOLLOWED || characters > MAX_CHARACTERS) {
      const most = `${MAX_FOLLOWED} resources, with ${MAX_CHARACTERS} characters in all their URIs`;
      throw new GatewayError("overloaded", "downstream", `one session may follow at most ${most}`);
    }
    if (this.feed.followable(this.#client, [uri]).length === 0) {
      throw new GatewayError(
        "unknown_target",
        "downstream",
        "no server would tell of updates of this resource",
        {
          rpc: CODE.methodNotFound,
          data: { uri },
        },
      );
    }
    this.#subscribe(this.#lists, new Set([...this.#resources, uri]));
    const refused = (await this.feed.refusals?.(this.#client, [uri]))?.get(uri);
    if (refused === undefined) return;
    this.unfollow(uri);
    const { code: rpc, message } = refused;
    throw new GatewayError("unknown_target", "upstream", message, { rpc, data: { uri } });
  }

  unfollow(uri: string): void {
    if (!this.#resources.has(uri)) return;
    this.#subscribe(this.#lists, new Set([...this.#resources].filter((followed) => followed !== uri)));
  }

  close(): void {
    this.#closed = true;
    this.#stop();
    this.#stop = noStop;
  }

  /**
   * The new subscription begins before the old one ends, so that no server is told to stop and start again; and where
   * it cannot begin, everything is as before.
   */
  #subscribe(lists: ReadonlySet<ListKind>, resources: ReadonlySet<string>): void {
    if (this.#closed) return;
    const stopOld = this.#stop;
    const wanted = lists.size > 0 || resources.size > 0;
    this.#stop = wanted
      ? this.feed.subscribe(this.#client, { lists, resources }, (change) => this.#tell(change))
      : noStop;
    this.#lists = lists;
    this.#resources = resources;
    stopOld();
  }

  #tell(change: Change): void {
    this.outlet.say(
      change.kind === "list"
        ? noticeText(LIST_CHANGED[change.list])
        : noticeText("notifications/resources/updated", { uri: change.uri }),
    );
  }
}

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
