/** Which changes is a client notified of between its calls? */
import type { RpcError } from "../wire/envelope.js";
import type { Client } from "./client.js";
import type { ListKind } from "./lists.js";

/** A change in a client's own view of the gateway. */
export type Change =
  | { readonly kind: "list"; readonly list: ListKind }
  | { readonly kind: "resource"; readonly uri: string }
  /** A subscription that was accepted before its server was connected, and that the server then refused. */
  | { readonly kind: "unfollowed"; readonly uri: string };

/** From when updates are delivered: `now`, or `later`, once a server that was never connected is. */
export type FollowTime = "now" | "later";

/** What one subscriber is notified of; URIs are the exposed ones. */
export interface ChangeFilter {
  readonly lists: ReadonlySet<ListKind>;
  readonly resources: ReadonlySet<string>;
  /** True: a resource that cannot be subscribed to now is retried later. Default: `subscribe` throws. */
  readonly allowPartial?: boolean;
}

/** Subscriptions of clients to list changes and resource updates. */
export interface ChangeFeed {
  /**
   * Calls `onChange` with each change of `client`'s own view that `interest` covers, until the returned function
   * is called. A list change is reported only when the client's merged, filtered list differs.
   *
   * @throws GatewayError `overloaded` when a server cannot take another connection; then nothing is subscribed.
   */
  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void;
  /**
   * The `uris` whose updates can be delivered: a server owns them and supports subscriptions. Waits up to 10 s for
   * servers that are starting and may own them, as a read does. Never rejects.
   */
  followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>>;
  /**
   * The `uris` subscribed to by `client` whose servers refused the subscription, each with the server's error. Waits
   * briefly for the servers. Absent where no server refuses.
   */
  refusals?(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, RpcError>>;
  /** Delivers debounced changes now. Absent where none are debounced. */
  flush?(): void;
}
