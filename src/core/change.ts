/** What clients may hear about between their calls. */
import type { RpcError } from "../wire/envelope.js";
import type { Client } from "./client.js";
import type { ListKind } from "./lists.js";

export type Change =
  | { readonly kind: "list"; readonly list: ListKind }
  | { readonly kind: "resource"; readonly uri: string }
  /** A resource that was followed before its server was there, and of which that server tells nothing. */
  | { readonly kind: "unfollowed"; readonly uri: string };

/** When updates of a resource can be told: `now`, or `later`, when its server, which was never met, is there. */
export type FollowTime = "now" | "later";

/** What one subscriber wants to hear; URIs are the exposed ones. */
export interface ChangeFilter {
  readonly lists: ReadonlySet<ListKind>;
  readonly resources: ReadonlySet<string>;
  /** True: a resource that cannot be followed at the moment is tried again later. Default: `subscribe` throws. */
  readonly allowPartial?: boolean;
}

export interface ChangeFeed {
  /**
   * Calls `onChange` with each change of `client`'s own view that `interest` covers, until the returned function
   * is called. A list change is told only when the client's merged, filtered list really differs.
   *
   * @throws GatewayError `overloaded` when a server has no room for `client`; then nothing is followed.
   */
  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void;
  /**
   * Of `uris`, those whose updates can be delivered: somebody owns them and their server can be followed. Waits for
   * servers that are starting and may own them, as a read does, for 10 s at most. Never rejects.
   */
  followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>>;
  /**
   * Of `uris`, which `client` has subscribed to, those that their servers will tell nothing of, each with its
   * server's words. Waits for the servers, but not for long. Absent where nobody refuses.
   */
  refusals?(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, RpcError>>;
  /** Tells at once what it would tell in a moment. Absent where nothing waits. */
  flush?(): void;
}
