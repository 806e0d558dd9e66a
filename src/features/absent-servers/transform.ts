/** What the gateway adds for hosts of servers that are not available: sentences in its instructions, and a resource. */
import { type Handler, type Middleware, NOT_CACHEABLE } from "../../core/call.js";
import type { AwaitedTools, ListTransform, OwnResource } from "../../core/list-transform.js";
import { writeJson } from "../../wire/json-text.js";
import { Payload } from "../../wire/payload.js";
import { absenceText } from "./absence-text.js";

/** The URI of the resource with the state of each server. */
const SERVERS_URI = "cardea://servers";

const MIME_TYPE = "application/json";

/** The route of reads that the gateway answers itself: it has no server. */
const ROUTE = { upstream: "", target: SERVERS_URI, exposed: SERVERS_URI, kind: "resources" } as const;

/** `{ servers: [{ server, state, reason?, action? }] }`, with the servers that the client may see. */
const SERVERS: OwnResource = {
  entry: {
    route: ROUTE,
    item: {
      uri: SERVERS_URI,
      name: "servers",
      title: "Servers",
      description:
        "The servers behind this gateway: the state of each, and of those that are not available why, and what helps.",
      mimeType: MIME_TYPE,
    },
  },
  text: (client, source) =>
    writeJson({ servers: source.serversFor(client).map(({ condition }) => condition) }),
};

/** The transform, the same for every config. */
export const shownStates = (): ListTransform => ({
  entries: (_client, _tools, _source, listed) => listed,
  resources: [SERVERS],
  isPerHost: () => false,
  introduce: (client, _tools, source) => ({
    text: absenceText(
      source.serversFor(client).map(({ condition }) => condition),
      source.isTransparent(client) ? undefined : SERVERS_URI,
    ),
    isInstead: false,
    hasOwnTools: false,
  }),
  ownTool: () => undefined,
  layer: ({ catalog, own, limited }) => readServers(catalog, own(limited(readOwn(catalog)))),
  close: () => {},
});

const readServers =
  (catalog: AwaitedTools, read: Handler): Middleware =>
  (next) =>
    function readServers(call) {
      const { method, params, client } = call;
      const isRead = method === "resources/read" && params.uri === SERVERS_URI;
      return isRead && !catalog.latest.isTransparent(client) ? read({ ...call, route: ROUTE }) : next(call);
    };

/** Waits for no server: their states are what is read. */
const readOwn = (catalog: AwaitedTools): Handler =>
  async function readStates({ client }) {
    const text = SERVERS.text(client, catalog.latest);
    const contents = [{ uri: SERVERS_URI, mimeType: MIME_TYPE, text }];
    return { kind: "result", result: Payload.ofObject({ contents }), freshness: NOT_CACHEABLE };
  };
