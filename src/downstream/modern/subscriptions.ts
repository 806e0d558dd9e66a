/** `subscriptions/listen`: changes told to one client for as long as it listens (basic/patterns/subscriptions). */
import type { Change } from "../../core/change.js";
import type { Client } from "../../core/client.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import { LIST_KINDS, type ListKind } from "../../core/upstream.js";
import type { MessageId, Request } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import { malformed } from "./read-meta.js";

/** The filter as the client sent it, and what it means. */
export interface Filter {
  readonly lists: ReadonlySet<ListKind>;
  readonly uris: readonly string[];
}

/** Members of the filter that ask for a list; templates have no kind of their own and go with the resources. */
const LISTS_OF: Readonly<Record<string, readonly ListKind[]>> = {
  toolsListChanged: ["tools"],
  promptsListChanged: ["prompts"],
  resourcesListChanged: ["resources", "resourceTemplates"],
};

const NOTIFICATION_OF: Readonly<Record<ListKind, string>> = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
  resourceTemplates: "notifications/resources/list_changed",
};

/**
 * Reads the filter of a listen request.
 * @param maxUris the most resources one subscription may name
 * @throws GatewayError -32602 when it is not one.
 */
export function readFilter(request: Request, maxUris: number): Filter {
  const sent = objectAt(request.params, "notifications");
  if (sent === undefined) throw malformed("notifications must be there and be an object");
  const uris = Object.hasOwn(sent, "resourceSubscriptions") ? sent.resourceSubscriptions : [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === "string")) {
    throw malformed("notifications.resourceSubscriptions must be a list of URIs");
  }
  if (uris.length > maxUris) throw malformed(`one subscription may name at most ${maxUris} resources`);
  return { lists: new Set(LIST_KINDS.filter((kind) => asksFor(sent, kind))), uris: [...new Set(uris)] };
}

const asksFor = (sent: JsonObject, kind: ListKind): boolean =>
  Object.entries(LISTS_OF).some(([member, kinds]) => sent[member] === true && kinds.includes(kind));

/**
 * Acknowledges what will be delivered and delivers it through `send`, every message stamped with the id of the
 * listen request. Call the returned function to stop.
 */
export function listen(
  id: MessageId,
  filter: Filter,
  client: Client,
  port: Pick<GatewayPort, "changes">,
  send: (message: string) => void,
): () => void {
  const say = (method: string, params: JsonObject): void =>
    send(
      JSON.stringify({ jsonrpc: "2.0", method, params: { _meta: { [META.subscriptionId]: id }, ...params } }),
    );
  const uris = filter.uris.length === 0 ? [] : port.changes.followable(client, filter.uris);
  // The acknowledgement must be the first message; nothing can come between it and the subscription, because
  // both happen in one turn.
  say("notifications/subscriptions/acknowledged", { notifications: honoured(filter, uris) });
  return port.changes.subscribe(client, { lists: filter.lists, resources: new Set(uris) }, (change) =>
    tell(change, say),
  );
}

function tell(change: Change, say: (method: string, params: JsonObject) => void): void {
  if (change.kind === "list") say(NOTIFICATION_OF[change.list], {});
  else say("notifications/resources/updated", { uri: change.uri });
}

function honoured({ lists }: Filter, uris: readonly string[]): JsonObject {
  const members = Object.entries(LISTS_OF).filter(([, kinds]) => kinds.some((kind) => lists.has(kind)));
  return {
    ...Object.fromEntries(members.map(([member]) => [member, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
}

/** The result that ends a subscription gracefully. */
export const farewell = (id: MessageId): JsonObject => ({ _meta: { [META.subscriptionId]: id } });
