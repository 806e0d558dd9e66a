/** The listener for other replicas: authenticates their requests and serves this replica's status page. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../core/logger.js";
import { HEADER } from "../wire/names.js";
import type { PeerKey } from "./peer-key.js";

/** The status page of a replica. */
export interface ReplicaPage {
  readonly id: string;
  readonly version: string;
  readonly isLeaving: boolean;
  /** The time of day in ms. */
  readonly startedAt: number;
  /** A fingerprint of the sealing secret, for comparison without revealing it. */
  readonly keys: string;
  /** The time of day in ms. */
  readonly now: number;
}

/** The path of the status page. */
export const REPLICA_PATH = "/cluster/replica";

/** Passes on requests of replicas, responds to those for the status page, and refuses all others unread. */
export function admitPeers(key: PeerKey, page: () => ReplicaPage, logger: Logger) {
  return (request: IncomingMessage, response: ServerResponse): number | undefined => {
    const { method = "", url = "", headers, socket } = request;
    const admission = key.verify(headers[HEADER.peer], method, url);
    if (admission === undefined) {
      logger.warn(
        { from: socket.remoteAddress },
        "a request to the listener for replicas was refused: its key is another one, or the clocks differ",
      );
      response.writeHead(403, { "content-type": "application/json", connection: "close" });
      response.end(JSON.stringify({ error: "this listener is for replicas of one cluster" }));
      return undefined;
    }
    if (url !== REPLICA_PATH) return admission.hops;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page()));
    return undefined;
  };
}
