/** The admin pages of the running gateway, at the time of the request. */

import { asInFile } from "../../config/as-in-file.js";
import { type Config, isMisconfigured } from "../../config/config.js";
import { placedReasonOf } from "../../config/misconfigured.js";
import { type AdminPage, type OwnServerMembers, served } from "../../core/admin-page.js";
import type { ListKind } from "../../core/lists.js";
import type { ReplicaParts } from "../../core/replicas.js";
import { stateInUse } from "../../core/upstream.js";
import type { LegacyEdge } from "../../downstream/legacy/edge.js";
import type { ModernEdge } from "../../downstream/modern/edge.js";
import { OPERATOR_CLIENT } from "../../gateway/live-config.js";
import type { Pipeline } from "../../gateway/pipeline.js";
import type { GatewayStatus } from "../../gateway/status.js";
import { cliExplain, cliLists, missingServers } from "../../gateway/views/cli-calls.js";
import { explainCall, readPrincipalQuery } from "../../gateway/views/explain.js";
import type { LiveCalls } from "../../telemetry/live-calls.js";
import type { PendingQuestions } from "../../telemetry/pending-questions.js";
import { isSecretField } from "../../telemetry/secrets.js";
import { stringAt } from "../../wire/json.js";
import { readCallQuery, shownCall } from "./call-rows.js";
import { PAGES } from "./page-table.js";
import { readCapabilities, readExplainQuery, readListKind } from "./queries.js";
import type { CatalogRow } from "./rows.js";

/** The sources of the pages. */
export interface StatusPagesOptions {
  readonly pipeline: () => Pipeline;
  readonly pendingQuestions: Pick<PendingQuestions, "list">;
  readonly liveCalls: Pick<LiveCalls, "recent" | "running" | "history" | "callsOf">;
  readonly legacy: Pick<LegacyEdge, "sessions">;
  readonly modern: Pick<ModernEdge, "clients">;
  readonly status: GatewayStatus;
  readonly version: string;
  readonly replica?: Pick<ReplicaParts, "directory" | "store"> | undefined;
  /** Those of features. */
  readonly more: readonly AdminPage[];
  readonly serverMembers: readonly OwnServerMembers[];
  /** The exposed names of the tools that are disabled. */
  readonly disabledTools: () => readonly string[];
}

/** The pages of one gateway. */
export function createStatusPages({
  pipeline,
  pendingQuestions,
  liveCalls,
  legacy,
  modern,
  status,
  version,
  replica,
  more,
  serverMembers,
  disabledTools,
}: StatusPagesOptions): readonly AdminPage[] {
  const rows = (kind: ListKind): readonly CatalogRow[] =>
    pipeline()
      .catalog.view(OPERATOR_CLIENT)
      .list(kind)
      .entries.map(({ route, item }) => {
        const title = stringAt(item, "title");
        return { name: route.exposed, server: route.upstream, ...(title !== undefined && { title }) };
      });
  return [
    served(PAGES.status, () => {
      const { config } = pipeline();
      const { url, startedAt } = status;
      return {
        version,
        node: process.version,
        pid: process.pid,
        uptimeSeconds: Math.round((Date.now() - startedAt) / 1000),
        ...(config.file !== undefined && { config: config.file }),
        ...(config.digest !== undefined && { configDigest: config.digest }),
        ...status.readiness(),
        ...(url !== undefined && { url }),
        sessions: legacy.sessions().length,
        openQuestions: pendingQuestions.list().length,
        servers: pipeline().catalog.status(),
      };
    }),
    served(PAGES.servers, async () => {
      const members = await Promise.all(serverMembers.map((each) => each.read()));
      const { servers, catalog } = pipeline();
      const lists = new Map(catalog.status().map((status) => [status.name, status]));
      const latencies = liveCalls.recent.upstreamLatencies();
      return [...servers.values()].map(({ config, upstream, breaker, semaphore, life }) => {
        const latency = latencies.get(config.name);
        const { lastError, malformed = [] } = lists.get(config.name) ?? {};
        return {
          name: config.name,
          transport: config.transport.kind,
          state: stateInUse(upstream),
          revisions: upstream.revisions ?? [],
          required: config.required,
          ...(isMisconfigured(config)
            ? { lastError: placedReasonOf(config), problems: config.problems }
            : lastError !== undefined && { lastError }),
          ...(upstream.facts !== undefined && { serverInfo: upstream.facts.serverInfo }),
          circuit: breaker.state,
          inFlight: semaphore.running,
          waiting: semaphore.queued,
          calls: liveCalls.callsOf(config.name),
          ...(latency !== undefined && { latencyMs: latency }),
          restarts: life.restarts,
          ...(life.startedAt !== undefined && { startedAt: new Date(life.startedAt).toISOString() }),
          ...(config.transport.kind === "stdio" && { stderr: life.stderr }),
          malformed,
          ...(life.misfits.length > 0 && { misfits: life.misfits }),
          ...Object.assign({}, ...members.map((ofServer) => ofServer(config.name))),
        };
      });
    }),
    served(PAGES.calls, (query) => {
      const { limit, matches } = readCallQuery(query);
      return liveCalls.recent.latest(limit, matches).map(shownCall);
    }),
    served(PAGES.runningCalls, () => liveCalls.running.list()),
    served(PAGES.history, () => liveCalls.history.page()),
    served(PAGES.questions, () => pendingQuestions.list()),
    served(PAGES.config, () => maskedConfig(pipeline().config)),
    served(PAGES.cluster, () => clusterPage(replica, version, status.startedAt)),
    served(PAGES.explain, (query, signal) =>
      query.get("wait") === "true"
        ? cliExplain(pipeline, readExplainQuery(query), { signal })
        : explainCall(pipeline(), readExplainQuery(query)),
    ),
    served(PAGES.lists, async (query, signal) => {
      const entries = await cliLists(pipeline, readListKind(query), {
        as: readPrincipalQuery(query),
        at: query.get("at") ?? undefined,
        all: query.get("all") === "true",
        capabilities: readCapabilities(query),
        signal,
      });
      return { entries, missing: missingServers(pipeline()) };
    }),
    served(PAGES.catalog, () => ({
      tools: rows("tools"),
      prompts: rows("prompts"),
      resources: rows("resources"),
      resourceTemplates: rows("resourceTemplates"),
    })),
    served(PAGES.sessions, () => [
      ...legacy.sessions().map(({ id: _, client, openedAt, idleMs, followed: __, ...shown }) => ({
        ...shown,
        era: "legacy" as const,
        ...(client !== undefined && { client }),
        ageSeconds: Math.round((Date.now() - openedAt.getTime()) / 1000),
        idleSeconds: Math.round(idleMs / 1000),
      })),
      ...modern.clients().map(({ principal, client, scope, firstAt, lastAt }) => ({
        principal,
        scope,
        era: "modern" as const,
        ...(client !== undefined && { client }),
        ageSeconds: Math.round((Date.now() - firstAt) / 1000),
        idleSeconds: Math.round((Date.now() - lastAt) / 1000),
      })),
    ]),
    ...more,
    served(PAGES.disabledTools, () => ({ tools: disabledTools() })),
  ];
}

/** The replicas known to this one, itself first. */
function clusterPage(replica: StatusPagesOptions["replica"], version: string, startedAt: number) {
  if (replica === undefined) return { replicas: [] };
  const { directory, store } = replica;
  const own = { id: directory.own, version, isLeaving: false, startedAt, isOwn: true };
  const others = directory.others().map((replica) => ({ ...replica, isOwn: false }));
  const replicas = [own, ...others].map(({ startedAt: at, ...replica }) => ({
    ...replica,
    ...(at !== undefined && { startedAt: new Date(at).toISOString() }),
  }));
  return { replicas, ...(store !== undefined && { storeIsUp: store.isUp }) };
}

const MASK = "[masked]";
/** All values in these are masked: their names do not reveal which are secrets. */
const MASKED_MEMBERS: ReadonlySet<string> = new Set(["env", "headers"]);
/** The names of secrets in a config; hashes of keys are masked too. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  ...["token", "state", "key", "sha256", "hash", "clientSecret", "privateKey", "keys"],
]);

/** A copy for JSON; other texts are redacted like all admin pages. */
const maskedConfig = (config: Config): unknown => masked(asInFile(config));

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (value instanceof Map) return masked(Object.fromEntries(value as Map<string, unknown>));
  if (value instanceof Set) return [...(value as Set<unknown>)].map(masked);
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return undefined;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [name, maskedMember(name, member)]),
  );
}

function maskedMember(name: string, value: unknown): unknown {
  if (MASKED_MEMBERS.has(name) && typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.keys(value).map((key) => [key, MASK]));
  }
  // `keys` of `auth` is a list of objects, whose members are masked one by one.
  const isText =
    typeof value === "string" || (Array.isArray(value) && value.every((one) => typeof one === "string"));
  return isText && (SECRET_MEMBERS.has(name) || isSecretField(name)) ? MASK : masked(value);
}
