/** Requests the status page of the replica at an address. */
import { type ClientRequest, request as openHttp } from "node:http";
import { request as openHttps } from "node:https";
import type { Replica } from "../core/cluster.js";
import type { Certificates } from "../core/owners.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import type { PeerKey } from "./peer-key.js";
import { REPLICA_PATH } from "./peer-listener.js";

/** The requester. */
export interface ReplicaProber {
  readonly id: string;
  readonly key: PeerKey;
  readonly tls?: Certificates;
}

/** `date`: the replica's time of day in ms, from the `Date` header of a refusal. */
export type ReplicaAnswer =
  | { readonly kind: "page"; readonly page: JsonObject }
  | { readonly kind: "refused"; readonly status: number; readonly date: number }
  | { readonly kind: "failed"; readonly error: Error };

/** Timeout (ms) of a request to a replica. */
const ANSWER_MS = 1_000;
const MAX_PAGE_LENGTH = 4_096;

/** One request; never rejects. `url`: the replica's peer listener. */
export function probeReplica(url: string, { id, key, tls }: ReplicaProber): Promise<ReplicaAnswer> {
  return new Promise((resolve) => {
    const [name, value] = key.header(id, 1, "GET", REPLICA_PATH);
    const options = { headers: { [name]: value }, agent: false } as const;
    const at = `${url}${REPLICA_PATH}`;
    const asked: ClientRequest =
      tls === undefined ? openHttp(at, options) : openHttps(at, { ...options, ...tls });
    // The system clock may be set; this limits the total time, including connecting.
    const slow = setTimeout(() => asked.destroy(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS);
    const end = (answer: ReplicaAnswer): void => {
      clearTimeout(slow);
      resolve(answer);
    };
    const fail = (error: Error): void => end({ kind: "failed", error });
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
        const { statusCode: status = 0, headers } = response;
        if (status !== 200) end({ kind: "refused", status, date: Date.parse(headers.date ?? "") });
        else end(answerIn(text));
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
