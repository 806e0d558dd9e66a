/** Forwards a console request from the primary process, which has no servers, to the admin socket of a worker. */
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as open,
  type ServerResponse,
} from "node:http";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** Headers of the connection and the browser, which the primary has checked. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["host", "connection", "keep-alive", "authorization", "origin", "cookie"],
  ...["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"],
]);

/** Resolves when the response is over; responds 503 if no worker is ready. */
export type ForwardToWorker = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Always the first ready worker, so that a question and its answer reach the same process. */
export function forwardToAnyWorker(
  identity: Pick<WorkerIdentity, "folder" | "secret">,
  workers: () => readonly Pick<WorkerStatus, "worker" | "ready">[],
): ForwardToWorker {
  return (request, response) =>
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
          headers: { ...ownless(headers), host: "localhost", authorization: `Bearer ${identity.secret}` },
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
