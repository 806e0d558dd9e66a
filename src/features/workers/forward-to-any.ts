/** Forwards a console request from the primary process, which has no servers, to the admin socket of a worker. */
import { type IncomingHttpHeaders, request as open } from "node:http";
import { callerHeader, withoutCaller } from "../admin/caller.js";
import type { PassOn } from "../admin/feature-actions.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** Headers of the connection and the browser, which the primary has checked. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["host", "connection", "keep-alive", "authorization", "origin", "cookie"],
  ...["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"],
]);

/**
 * Always the first ready worker, so that a question and its answer reach the same process. Resolves when the response is over;
 * responds 503 if no worker is ready.
 */
export function forwardToAnyWorker(
  identity: Pick<WorkerIdentity, "folder" | "secret">,
  workers: () => readonly Pick<WorkerStatus, "worker" | "ready">[],
): PassOn {
  return (request, response, caller) =>
    new Promise((done) => {
      const unavailable = (): void => {
        if (response.headersSent) response.destroy();
        else {
          const body = JSON.stringify({ error: "no worker takes calls now; try again in a few seconds" });
          response.writeHead(503, { "content-type": "application/json" }).end(body);
        }
        done();
      };
      const worker = workers().find(({ ready }) => ready)?.worker;
      if (worker === undefined) return unavailable();
      const socketPath = workerSocket(identity, worker, "admin");
      const { method, url, headers } = request;
      const forwarded = open(
        {
          socketPath,
          method,
          path: url,
          headers: {
            ...ownless(withoutCaller(headers)),
            ...{ host: "localhost", authorization: `Bearer ${identity.secret}` },
            ...callerHeader(caller),
          },
        },
        (answer) => {
          const { connection: _, ...answerHeaders } = answer.headers;
          response.writeHead(answer.statusCode ?? 502, answerHeaders);
          answer.pipe(response);
          answer.once("error", unavailable);
        },
      );
      forwarded.once("error", unavailable);
      // A client that disconnects cancels its call.
      response.once("close", () => {
        forwarded.destroy();
        done();
      });
      request.pipe(forwarded);
    });
}

const ownless = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name)));
