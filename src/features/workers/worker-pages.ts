/** Requests an admin page of each worker. */
import { type IncomingHttpHeaders, request } from "node:http";
import type { AdminCaller } from "../../core/admin-page.js";
import type { StopSignal } from "../../core/stop.js";
import { ACCEPT_OPEN_METRICS } from "../../telemetry/open-metrics.js";
import { callerHeader } from "../admin/caller.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** A response with its status. */
export interface PageResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
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
  readonly #identity: Pick<WorkerIdentity, "folder" | "secret">;
  readonly #workers: () => readonly WorkerStatus[];

  constructor(identity: Pick<WorkerIdentity, "folder" | "secret">, workers: () => readonly WorkerStatus[]) {
    this.#identity = identity;
    this.#workers = workers;
  }

  /** One entry for each ready worker. `caller`: for whom, where the listener knows. Never rejects. */
  each(
    path: string,
    limit: PageLimit = { ms: TIMEOUT_MS },
    caller?: AdminCaller,
  ): Promise<readonly WorkerPage[]> {
    const headers = caller && {
      ...{ authorization: `Bearer ${this.#identity.secret}` },
      ...callerHeader(caller),
    };
    const ready = this.#workers().filter((each) => each.ready);
    return Promise.all(
      ready.map(async ({ worker, pid }) => {
        const socket = workerSocket(this.#identity, worker, "admin");
        return {
          worker,
          pid,
          page: await fetchAdminPage({ socketPath: socket, path, headers }, limit).catch(() => undefined),
        };
      }),
    );
  }

  /** The responses that came. */
  async all(path: string, limit?: PageLimit, caller?: AdminCaller): Promise<readonly WorkerResponse[]> {
    const pages = await this.each(path, limit, caller);
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

/** A page of a worker, by its socket. */
interface WorkerPageRequest {
  readonly socketPath: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Requests an admin page of a worker. @throws Error if the worker does not run or does not respond in time. */
export function fetchAdminPage(
  { socketPath, path, headers: added }: WorkerPageRequest,
  { ms, signal }: PageLimit,
): Promise<PageResponse> {
  return new Promise((resolve, reject) => {
    const headers = { host: "localhost", accept: `${ACCEPT_OPEN_METRICS}, */*;q=0.5`, ...added };
    const sent = request({ socketPath, path, headers }, (response) => {
      const chunks: string[] = [];
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => chunks.push(chunk));
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, text: chunks.join(""), headers: response.headers }),
      );
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
