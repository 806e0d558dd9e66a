/** Merges the call streams of all workers into one. */
import { request } from "node:http";
import { isObject } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import { readCallQuery } from "../admin/call-rows.js";
import type { CallFeed } from "../admin/call-stream.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** Interval of looking for newly started workers, in ms. */
const LOOK_AGAIN_MS = 1000;
/** Limit (characters) of an incomplete event. */
const MAX_EVENT_LENGTH = 1024 * 1024;

/** Reads the stream of each running worker, and of those that start later, while there is a follower. */
export function workerCallFeed(
  identity: Omit<WorkerIdentity, "number">,
  workers: () => readonly WorkerStatus[],
): CallFeed {
  return {
    follow(query, listener) {
      readCallQuery(query);
      const open = new Map<number, () => void>();
      const look = (): void => {
        for (const { worker, ready } of workers()) {
          if (!ready || open.has(worker)) continue;
          const socketPath = workerSocket(identity, worker, "admin");
          const path = `/api/v1/calls/stream?${query.toString()}`;
          const follow = readEvents(
            { socketPath, path },
            (row) => listener({ ...row, worker }),
            () => void open.delete(worker),
          );
          open.set(worker, follow);
        }
      };
      look();
      const timer = setInterval(look, LOOK_AGAIN_MS);
      timer.unref();
      return () => {
        clearInterval(timer);
        for (const end of open.values()) end();
      };
    },
  };
}

/** `onEnd` is called when the worker or the returned function has ended the stream. */
function readEvents(
  address: { readonly socketPath: string; readonly path: string },
  listener: (row: object) => void,
  onEnd: () => void,
): () => void {
  const sent = request({ ...address, headers: { host: "localhost" } }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      const events = (text + chunk).split("\n\n");
      text = events.pop() ?? "";
      if (text.length > MAX_EVENT_LENGTH) sent.destroy();
      for (const event of events) {
        const [name, data] = event.split("\n");
        if (name !== "event: call" || data === undefined) continue;
        const row = parseJson(data.slice("data: ".length));
        if (isObject(row)) listener(row);
      }
    });
    response.on("error", () => {});
  });
  // A worker that ends is followed again once it runs again.
  sent.on("error", () => {});
  sent.once("close", onEnd);
  sent.end();
  return () => void sent.destroy();
}
