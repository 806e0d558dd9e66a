/** The admin pages of all workers, merged: status, readiness and metrics. */
import { request } from "node:http";
import { BadQuery, type Pages } from "../admin/pages.js";
import { GatewayError } from "../core/errors.js";
import type { FeatureGauge } from "../core/feature.js";
import { DRAINING_REASON, type Readiness } from "../core/gateway-api.js";
import { type WorkerIdentity, workerSocket } from "../core/owners.js";
import type { StopSignal } from "../core/stop.js";
import { UPSTREAM_STATES } from "../core/upstream.js";
import { ACCEPT_OPEN_METRICS, fromOpenMetrics } from "../telemetry/open-metrics.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { MonotonicMetrics } from "./merged-metrics.js";
import { mergeCalls, mergeHistories, mergeTokenReports } from "./merged-rows.js";
import type { WorkerStatus } from "./worker-pool.js";

/** The workers, and the primary process that serves the pages. */
interface MergedAdminPagesOptions {
  readonly identity: Omit<WorkerIdentity, "number">;
  readonly workers: () => readonly WorkerStatus[];
  /** The metrics of the primary process. */
  readonly ownMetrics: { text(): Promise<string> };
  /** The gauges of features. */
  readonly gauges: readonly FeatureGauge[];
  /** The pages of features, whose content is the same in each worker. */
  readonly samePages: readonly string[];
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly draining: () => boolean;
}

interface AdminPage {
  readonly status: number;
  readonly text: string;
}

/** The response of one worker. */
interface WorkerResponse extends AdminPage {
  readonly worker: number;
}

/** The pages of every worker. */
const PAGE_NAMES = [
  "status",
  "servers",
  "catalog",
  "sessions",
  "decisions",
  "approvals",
  "config",
  "tools/disabled",
  "cluster",
  "calls",
  "calls/running",
  "history",
  "questions",
  "explain",
  "lists",
  "tokens",
] as const;
/** Pages that wait for starting servers. */
const WAITING_PAGES: ReadonlySet<string> = new Set(["lists", "tokens"]);
/** Maximum rows of a page, the newest first. */
const MAX_ROWS = 1000;

/** Serves the admin listener of the primary process. */
export interface MergedAdminPages {
  readonly pages: Pages;
  readiness(): Promise<Readiness>;
  metrics(): Promise<string>;
}

/** Requests the pages of every worker at each call. */
export function createMergedAdminPages(options: MergedAdminPagesOptions): MergedAdminPages {
  const { identity, workers, ownMetrics, gauges, samePages, version, startedAt, draining } = options;

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

  const page = async (name: string, query: URLSearchParams, signal: StopSignal): Promise<unknown> => {
    const words = query.toString();
    const waits = WAITING_PAGES.has(name) || query.get("wait") === "true";
    const limit = { ms: waits ? WAITING_TIMEOUT_MS : TIMEOUT_MS, signal };
    const answers = await requestAll(`/api/v1/${name}${words === "" ? "" : `?${words}`}`, limit);
    const refused = answers.find(({ status }) => status === 400);
    if (refused !== undefined) throw new BadQuery((JSON.parse(refused.text) as { error: string }).error);
    const bodies = answers
      .filter(({ status }) => status === 200)
      .map(({ worker, text }) => ({ worker, body: JSON.parse(text) as unknown }));
    if (bodies.length === 0) throw unavailable(name, answers);
    if (name === "calls") {
      return mergeCalls(
        bodies.map(({ worker, body }) => ({ worker, rows: rowsOf(body) })),
        query,
      );
    }
    if (name === "history") return mergeHistories(bodies.map(({ body }) => body).filter(isObject));
    if (samePages.includes(name)) return bodies[0]?.body;
    if (name === "servers") return mergeServers(bodies.map(({ body }) => rowsOf(body)));
    return name === "tokens"
      ? mergeTokenReports(bodies.map(({ body }) => body).filter(isObject))
      : merge(bodies);
  };
  const pages = Object.fromEntries(
    [...PAGE_NAMES, ...samePages].map((name) => [
      name,
      (query: URLSearchParams, signal: StopSignal) => page(name, query, signal),
    ]),
  );

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
    pages: {
      ...pages,
      workers: () => workers(),
      async status() {
        const all = await requestAll("/api/v1/status");
        const first = JSON.parse(all[0]?.text ?? "{}") as JsonObject;
        const sum = (member: string) =>
          all.reduce((total, { text }) => total + Number((JSON.parse(text) as JsonObject)[member] ?? 0), 0);
        return {
          ...first,
          version,
          node: process.version,
          pid: process.pid,
          uptimeSeconds: Math.round((Date.now() - startedAt) / 1000),
          ...(await readiness()),
          sessions: sum("sessions"),
          openQuestions: sum("openQuestions"),
          workers: workers(),
        };
      },
    },
  };
}

/** Lists are concatenated, each row with its worker; any other page is the same in each worker. */
function merge(answers: readonly { readonly worker: number; readonly body: unknown }[]): unknown {
  if (!Array.isArray(answers[0]?.body)) return answers[0]?.body;
  const rows = answers.flatMap(({ worker, body }) =>
    rowsOf(body).map((row): JsonObject => ({ ...row, worker })),
  );
  const time = ({ time }: JsonObject): string => (typeof time === "string" ? time : "");
  return rows.toSorted((a, b) => time(b).localeCompare(time(a))).slice(0, MAX_ROWS);
}

const rowsOf = (body: unknown): readonly JsonObject[] => (Array.isArray(body) ? body.filter(isObject) : []);

const CIRCUITS = ["closed", "half_open", "open"];

/** One row per server: its worst state, and the sum of its calls. */
function mergeServers(lists: readonly (readonly JsonObject[])[]): readonly JsonObject[] {
  const servers = new Map<unknown, JsonObject>();
  for (const row of lists.flat()) {
    const before = servers.get(row.name);
    servers.set(row.name, before === undefined ? row : worseOf(before, row));
  }
  return [...servers.values()];
}

function worseOf(a: JsonObject, b: JsonObject): JsonObject {
  const rank = (order: readonly string[], value: unknown): number => order.indexOf(String(value));
  const add = (member: string) => Number(a[member] ?? 0) + Number(b[member] ?? 0);
  const base = rank(UPSTREAM_STATES, b.state) > rank(UPSTREAM_STATES, a.state) ? b : a;
  return {
    ...base,
    circuit: rank(CIRCUITS, b.circuit) > rank(CIRCUITS, a.circuit) ? b.circuit : a.circuit,
    inFlight: add("inFlight"),
    waiting: add("waiting"),
    ...(a.calls !== undefined && { calls: add("calls"), restarts: add("restarts") }),
  };
}

/** The error if no worker has served the page; a worker's 404 for an unknown server is passed on. */
function unavailable(name: string, answers: readonly AdminPage[]): GatewayError {
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
function fetchAdminPage(socketPath: string, path: string, { ms, signal }: PageLimit): Promise<AdminPage> {
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
