/** The admin pages of all workers, merged: status, readiness and metrics. */
import { request } from "node:http";
import { BadQuery } from "../../admin/page.js";
import { PAGE_TABLE, PAGES } from "../../admin/page-table.js";
import {
  type AdminPage,
  type AnswerOf,
  firstAnswer,
  inPlaces,
  type PageKind,
  served,
  type WorkerAnswer,
} from "../../core/admin-page.js";
import { GatewayError } from "../../core/errors.js";
import type { FeatureGauge } from "../../core/feature.js";
import { DRAINING_REASON, type Readiness } from "../../core/gateway-api.js";
import type { StopSignal } from "../../core/stop.js";
import { ACCEPT_OPEN_METRICS, fromOpenMetrics } from "../../telemetry/open-metrics.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import { MonotonicMetrics } from "./merged-metrics.js";
import type { WorkerStatus } from "./worker-pool.js";

/** The workers, and the primary process that serves the pages. */
interface MergedAdminPagesOptions {
  readonly identity: Omit<WorkerIdentity, "number">;
  readonly workers: () => readonly WorkerStatus[];
  /** The metrics of the primary process. */
  readonly ownMetrics: { text(): Promise<string> };
  /** The gauges of features. */
  readonly gauges: readonly FeatureGauge[];
  readonly featurePages: readonly PageKind[];
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly draining: () => boolean;
}

interface PageResponse {
  readonly status: number;
  readonly text: string;
}

/** The response of one worker. */
interface WorkerResponse extends PageResponse {
  readonly worker: number;
}

/** Serves the admin listener of the primary process. */
export interface MergedAdminPages {
  readonly pages: readonly AdminPage[];
  readiness(): Promise<Readiness>;
  metrics(): Promise<string>;
}

/** Requests the pages of every worker at each call. */
export function createMergedAdminPages(options: MergedAdminPagesOptions): MergedAdminPages {
  const { identity, workers, ownMetrics, gauges, featurePages, version, startedAt, draining } = options;

  const metrics = new MonotonicMetrics(gauges);

  /** The response of each running worker; undefined if it exits or does not respond. */
  const requestEach = (path: string, limit: PageLimit = { ms: TIMEOUT_MS }) =>
    Promise.all(
      workers()
        .filter(({ ready }) => ready)
        .map(async ({ worker, pid }) => {
          const socket = workerSocket(identity, worker, "admin");
          return { worker, pid, page: await fetchAdminPage(socket, path, limit).catch(() => undefined) };
        }),
    );
  const requestAll = async (path: string, limit?: PageLimit): Promise<readonly WorkerResponse[]> =>
    (await requestEach(path, limit)).flatMap(({ worker, page }) =>
      page === undefined ? [] : { worker, ...page },
    );

  async function readiness(): Promise<Readiness> {
    const responses = await requestEach("/readyz");
    const answers = responses.flatMap(({ page }) =>
      page === undefined ? [] : (JSON.parse(page.text) as Readiness),
    );
    const reasons = [
      ...(draining() ? [DRAINING_REASON] : []),
      ...workers().flatMap(({ worker, ready }) => (ready ? [] : `worker ${worker} is starting`)),
      ...responses.flatMap(({ worker, page }) =>
        page === undefined ? `worker ${worker} does not answer` : [],
      ),
      ...answers.flatMap((answer) => answer.reasons),
    ];
    const ready = !draining() && answers.length > 0 && answers.every((answer) => answer.ready);
    const starting = [...new Set(answers.flatMap((answer) => answer.starting ?? []))];
    return { ready, reasons: [...new Set(reasons)], ...(starting.length > 0 && { starting }) };
  }

  const page = async <Answer>(
    { path, waits, merge = firstAnswer }: PageKind<Answer>,
    query: URLSearchParams,
    signal: StopSignal,
  ): Promise<Answer> => {
    const words = query.toString();
    const isWaiting = waits === true || query.get("wait") === "true";
    const limit = { ms: isWaiting ? WAITING_TIMEOUT_MS : TIMEOUT_MS, signal };
    const responses = await requestAll(`/api/v1/${path}${words === "" ? "" : `?${words}`}`, limit);
    const refused = responses.find(({ status }) => status === 400);
    if (refused !== undefined) throw new BadQuery((JSON.parse(refused.text) as { error: string }).error);
    const [one, ...others] = answersOf<Answer>(responses);
    if (one === undefined) throw unavailable(path, responses);
    return merge([one, ...others], query);
  };
  const status = async (): Promise<AnswerOf<typeof PAGES.status>> => {
    const answers = answersOf<AnswerOf<typeof PAGES.status>>(await requestAll("/api/v1/status"));
    const sum = (member: "sessions" | "openQuestions"): number =>
      answers.reduce((total, { body }) => total + body[member], 0);
    return {
      ...(answers[0]?.body ?? { servers: [] }),
      version,
      node: process.version,
      pid: process.pid,
      uptimeSeconds: Math.round((Date.now() - startedAt) / 1000),
      ...(await readiness()),
      sessions: sum("sessions"),
      openQuestions: sum("openQuestions"),
      workers: workers(),
    };
  };
  const merged = inPlaces([...PAGE_TABLE, ...featurePages], "inDocument")
    .filter(({ merge }) => merge !== undefined)
    .map((kind) => served(kind, (query, signal) => page(kind, query, signal)));

  return {
    readiness,
    metrics: async () => {
      const running = (await requestEach("/metrics")).map(({ worker, pid, page }) => ({
        worker,
        pid,
        text: page?.status === 200 ? fromOpenMetrics(page.text) : undefined,
      }));
      // The primary serves no calls; its memory and CPU time belong to the sum.
      return metrics.merged(running, [await ownMetrics.text()]);
    },
    pages: [served(PAGES.status, status), ...merged, served(PAGES.workers, () => workers())],
  };
}

/** The JSON of the workers, which run this program too. */
const answersOf = <Answer>(responses: readonly WorkerResponse[]): readonly WorkerAnswer<Answer>[] =>
  responses
    .filter(({ status }) => status === 200)
    .map(({ worker, text }) => ({ worker, body: JSON.parse(text) as Answer }));

/** The error if no worker has served the page; a worker's 404 for an unknown server is passed on. */
function unavailable(name: string, answers: readonly PageResponse[]): GatewayError {
  const refused = answers.find(({ status }) => status === 503);
  const message = refused === undefined ? undefined : (JSON.parse(refused.text) as { error?: string }).error;
  return new GatewayError("upstream_unavailable", "gateway", message ?? `no worker answers for ${name}`);
}

/** Time limit for one page, in ms. */
const TIMEOUT_MS = 5_000;
/** The same for a page that waits for servers; a worker limits that wait itself, by the timeouts of its config. */
const WAITING_TIMEOUT_MS = 600_000;

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
