/** The admin pages of all workers, merged: status, readiness and metrics. */

import {
  type AdminCaller,
  type AdminPage,
  type AnswerOf,
  BadQuery,
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
import { fromOpenMetrics } from "../../telemetry/open-metrics.js";
import { PAGE_TABLE, PAGES } from "../admin/page-table.js";
import type { WorkerIdentity } from "./identity.js";
import { MonotonicMetrics } from "./merged-metrics.js";
import {
  type PageResponse,
  TIMEOUT_MS,
  WAITING_TIMEOUT_MS,
  WorkerPages,
  type WorkerResponse,
} from "./worker-pages.js";
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

/** Serves the admin listener of the primary process; requests the pages of every worker at each call. */
export class MergedAdminPages {
  readonly #options: MergedAdminPagesOptions;
  readonly #ofWorkers: WorkerPages;
  readonly #metrics: MonotonicMetrics;

  constructor(options: MergedAdminPagesOptions) {
    this.#options = options;
    this.#ofWorkers = new WorkerPages(options.identity, options.workers);
    this.#metrics = new MonotonicMetrics(options.gauges);
  }

  /** Those with a merge, and those that the primary process answers by itself. */
  get pages(): readonly AdminPage[] {
    const { featurePages, workers } = this.#options;
    const merged = inPlaces([...PAGE_TABLE, ...featurePages], "inDocument")
      .filter(({ merge }) => merge !== undefined)
      .map((kind) => served(kind, (query, signal, caller) => this.#page(kind, query, signal, caller)));
    return [served(PAGES.status, () => this.#status()), ...merged, served(PAGES.workers, () => workers())];
  }

  async readiness(): Promise<Readiness> {
    const { draining, workers } = this.#options;
    const responses = await this.#ofWorkers.each("/readyz");
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

  async metrics(): Promise<string> {
    const running = (await this.#ofWorkers.each("/metrics")).map(({ worker, pid, page }) => ({
      worker,
      pid,
      text: page?.status === 200 ? fromOpenMetrics(page.text) : undefined,
    }));
    // The primary serves no calls; its memory and CPU time belong to the sum.
    return this.#metrics.merged(running, [await this.#options.ownMetrics.text()]);
  }

  async #page<Answer>(
    { path, waits, merge = firstAnswer }: PageKind<Answer>,
    query: URLSearchParams,
    signal: StopSignal,
    caller: AdminCaller | undefined,
  ): Promise<Answer> {
    const words = query.toString();
    const isWaiting = waits === true || query.get("wait") === "true";
    const limit = { ms: isWaiting ? WAITING_TIMEOUT_MS : TIMEOUT_MS, signal };
    const responses = await this.#ofWorkers.all(
      `/api/v1/${path}${words === "" ? "" : `?${words}`}`,
      limit,
      caller,
    );
    const refused = responses.find(({ status }) => status === 400);
    if (refused !== undefined) throw new BadQuery((JSON.parse(refused.text) as { error: string }).error);
    const [one, ...others] = answersOf<Answer>(responses);
    if (one === undefined) throw unavailable(path, responses);
    return merge([one, ...others], query);
  }

  async #status(): Promise<AnswerOf<typeof PAGES.status>> {
    const { version, startedAt, workers } = this.#options;
    const answers = answersOf<AnswerOf<typeof PAGES.status>>(await this.#ofWorkers.all("/api/v1/status"));
    const sum = (member: "sessions" | "openQuestions"): number =>
      answers.reduce((total, { body }) => total + body[member], 0);
    return {
      ...(answers[0]?.body ?? { servers: [] }),
      version,
      node: process.version,
      pid: process.pid,
      uptimeSeconds: Math.round((Date.now() - startedAt) / 1000),
      ...(await this.readiness()),
      sessions: sum("sessions"),
      openQuestions: sum("openQuestions"),
      workers: workers(),
    };
  }
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
