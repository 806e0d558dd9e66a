/** Requests an admin page of each worker. */
import { request } from "node:http";
import type { StopSignal } from "../../core/stop.js";
import { ACCEPT_OPEN_METRICS } from "../../telemetry/open-metrics.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** A response with its status. */
export interface PageResponse {
  readonly status: number;
  readonly text: string;
}

/** The response of one worker. */
export interface WorkerResponse extends PageResponse {
  readonly worker: number;
}

/** What a running worker responds; no page if it exits or does not respond in time. */
interface WorkerPage {
  readonly worker: number;
  readonly pid: number | undefined;
  readonly page: PageResponse | undefined;
}

/** The workers that are ready at each request. */
export class WorkerPages {
  readonly #identity: Pick<WorkerIdentity, "folder">;
  readonly #workers: () => readonly WorkerStatus[];

  constructor(identity: Pick<WorkerIdentity, "folder">, workers: () => readonly WorkerStatus[]) {
    this.#identity = identity;
    this.#workers = workers;
  }

  /** One entry for each ready worker. Never rejects. */
  each(path: string, limit: PageLimit = { ms: TIMEOUT_MS }): Promise<readonly WorkerPage[]> {
    const ready = this.#workers().filter((each) => each.ready);
    return Promise.all(
      ready.map(async ({ worker, pid }) => {
        const socket = workerSocket(this.#identity, worker, "admin");
        return { worker, pid, page: await fetchAdminPage(socket, path, limit).catch(() => undefined) };
      }),
    );
  }

  /** The responses that came. */
  async all(path: string, limit?: PageLimit): Promise<readonly WorkerResponse[]> {
    const pages = await this.each(path, limit);
    return pages.flatMap(({ worker, page }) => (page === undefined ? [] : { worker, ...page }));
  }
}

/** Time limit for one page, in ms. */
export const TIMEOUT_MS = 5_000;
/** The same for a page that waits for servers; a worker limits that wait itself, by the timeouts of its config. */
export const WAITING_TIMEOUT_MS = 600_000;

/** Ends a page request: the time (ms) without a response, or the client of the primary process. */
interface PageLimit {
  readonly ms: number;
  readonly signal?: StopSignal;
}

/** Requests an admin page of a worker. @throws Error if the worker does not run or does not respond in time. */
function fetchAdminPage(socketPath: string, path: string, { ms, signal }: PageLimit): Promise<PageResponse> {
  return new Promise((resolve, reject) => {
    const headers = { host: "localhost", accept: `${ACCEPT_OPEN_METRICS}, */*;q=0.5` };
    const sent = request({ socketPath, path, headers }, (response) => {
      const chunks: string[] = [];
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => chunks.push(chunk));
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text: chunks.join("") }));
      response.once("error", reject);
    });
    sent.once("error", reject);
    sent.setTimeout(ms, () => sent.destroy(new Error(`no answer within ${ms} ms`)));
    const end = (): void => void sent.destroy(new Error("the client has disconnected"));
    signal?.addEventListener("abort", end, { once: true });
    sent.once("close", () => signal?.removeEventListener("abort", end));
    if (signal?.aborted === true) end();
    sent.end();
  });
}
