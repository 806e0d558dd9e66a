/** Requests the status page of the replica at an address. */
import { request as openHttp } from "node:http";
import type { Replica } from "../../core/replicas.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import { type PeerConnections, UnprovenPeer } from "./peer-connections.js";
import { ANY_REPLICA, REPLICA_PATH } from "./peer-listener.js";

/**
 * `refused`: what listens there has not proven that it is a replica of this cluster; `reason`: as it says; `date`: its time of day
 * in ms.
 */
export type ReplicaAnswer =
  | { readonly kind: "page"; readonly page: JsonObject }
  | { readonly kind: "refused"; readonly error: Error; readonly reason?: string; readonly date: number }
  | { readonly kind: "failed"; readonly error: Error };

/** Timeout (ms) of a request to a replica. */
const ANSWER_MS = 1_000;
const MAX_PAGE_LENGTH = 4_096;

/** One request; never rejects. `url`: the replica's peer listener; `id`: which one it has to be, where that is known. */
export function probeReplica(url: string, connections: PeerConnections, id?: string): Promise<ReplicaAnswer> {
  return new Promise((resolve) => {
    const { key, id: from } = connections;
    const [name, value] = key.requests.header({ from, to: ANY_REPLICA, hops: 1 }, "GET", REPLICA_PATH);
    const { hostname, port } = new URL(url);
    const asked = openHttp({
      ...{ host: hostname, port, path: REPLICA_PATH, headers: { [name]: value } },
      agent: connections.agentOf(url, id),
    });
    // The system clock may be set; this limits the total time, including connecting.
    const slow = setTimeout(() => asked.destroy(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS);
    const end = (answer: ReplicaAnswer): void => {
      clearTimeout(slow);
      resolve(answer);
    };
    const fail = (error: Error): void => {
      if (error instanceof UnprovenPeer) {
        const { date, reason } = error;
        end({ kind: "refused", error, date, ...(reason !== undefined && { reason }) });
      } else end({ kind: "failed", error });
    };
    asked.once("error", fail);
    asked.once("close", () => fail(new Error("the connection was closed")));
    asked.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_PAGE_LENGTH) asked.destroy(new Error("its answer is too long"));
      });
      response.once("error", fail);
      response.once("end", () => {
        if (response.statusCode === 200) end(answerIn(text));
        else fail(new Error(`it answers with status ${response.statusCode}`));
      });
    });
    asked.end();
  });
}

function answerIn(text: string): ReplicaAnswer {
  let page: unknown;
  try {
    page = parseJson(text);
  } catch {
    page = undefined;
  }
  return isObject(page)
    ? { kind: "page", page }
    : { kind: "failed", error: new Error("its answer is not that of a replica") };
}

/** The members of a replica's status page besides its id and URL; also its registration in the store. */
export function replicaFacts(page: JsonObject): Pick<Replica, "version" | "isLeaving" | "startedAt"> {
  const { startedAt } = page;
  return {
    version: stringAt(page, "version") ?? "",
    isLeaving: page.isLeaving === true,
    ...(typeof startedAt === "number" && { startedAt }),
  };
}
