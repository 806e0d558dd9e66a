/** The admin pages of the running gateway, at the time of the request. */

import { isMisconfigured, signsInEachPerson } from "../../config/config.js";
import { placedReasonOf } from "../../config/misconfigured.js";
import { type AdminPage, type OwnServerMembers, served } from "../../core/admin-page.js";
import type { Problem } from "../../core/feature.js";
import type { ListKind } from "../../core/lists.js";
import type { ReplicaParts } from "../../core/replicas.js";
import { stateInUse, type UpstreamState } from "../../core/upstream.js";
import type { LegacyEdge } from "../../downstream/legacy/edge.js";
import type { ModernEdge } from "../../downstream/modern/edge.js";
import { OPERATOR_CLIENT } from "../../gateway/live-config.js";
import type { Pipeline } from "../../gateway/pipeline.js";
import type { ServerRuntime } from "../../gateway/server-runtime.js";
import type { GatewayStatus } from "../../gateway/status.js";
import { cliExplain, cliLists, missingServers } from "../../gateway/views/cli-calls.js";
import { explainCall, readPrincipalQuery } from "../../gateway/views/explain.js";
import type { LiveCalls } from "../../telemetry/live-calls.js";
import type { PendingQuestions } from "../../telemetry/pending-questions.js";
import type { ServerFailures } from "../../telemetry/server-failures.js";
import { stringAt } from "../../wire/json.js";
import { readCallQuery, shownCall } from "./call-rows.js";
import { maskedConfig } from "./masked-config.js";
import { PAGES } from "./page-table.js";
import { problemRows } from "./problems.js";
import { readCapabilities, readExplainQuery, readListKind } from "./queries.js";
import type { CatalogRow, ServerRow, SessionRow, Status } from "./rows.js";
import { needsOf } from "./sign-in-needs.js";

/** The sources of the pages. */
export interface StatusPagesOptions {
  readonly pipeline: () => Pipeline;
  readonly pendingQuestions: Pick<PendingQuestions, "list">;
  readonly liveCalls: Pick<LiveCalls, "recent" | "running" | "historyOf" | "failures" | "callsOf">;
  readonly legacy: Pick<LegacyEdge, "sessions">;
  readonly modern: Pick<ModernEdge, "clients">;
  readonly status: GatewayStatus;
  readonly version: string;
  readonly replica?: Pick<ReplicaParts, "directory" | "store"> | undefined;
  /** Those of features. */
  readonly more: readonly AdminPage[];
  readonly serverMembers: readonly OwnServerMembers[];
  readonly problems: () => readonly Problem[];
  /** The exposed names of the tools that are disabled. */
  readonly disabledTools: () => readonly string[];
}

/** The pages of one gateway. */
export function createStatusPages(options: StatusPagesOptions): readonly AdminPage[] {
  const { pipeline, pendingQuestions, liveCalls, status, version, replica, more, disabledTools } = options;
  return [
    served(PAGES.status, () => statusOf(options)),
    served(PAGES.servers, () => serverRows(options)),
    served(PAGES.problems, () => {
      const { servers, catalog } = pipeline();
      const lists = new Map(catalog.status().map(({ name, malformed }) => [name, malformed.length]));
      return problemRows({
        ...{ servers, failures: liveCalls.failures, status, calls: liveCalls.recent.latest() },
        ...{ questions: pendingQuestions.list(), malformedOf: (server) => lists.get(server) ?? 0 },
        ...{ ofFeatures: options.problems(), now: Date.now() },
      });
    }),
    served(PAGES.calls, (query) => {
      const { limit, matches } = readCallQuery(query);
      return liveCalls.recent.latest(limit, matches).map(shownCall);
    }),
    served(PAGES.runningCalls, () => liveCalls.running.list()),
    served(PAGES.history, (query) => liveCalls.historyOf(query.get("server") ?? undefined)),
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
      tools: catalogRows(pipeline(), "tools"),
      prompts: catalogRows(pipeline(), "prompts"),
      resources: catalogRows(pipeline(), "resources"),
      resourceTemplates: catalogRows(pipeline(), "resourceTemplates"),
    })),
    served(PAGES.sessions, () => sessionRows(options)),
    ...more,
    served(PAGES.disabledTools, () => ({ tools: disabledTools() })),
  ];
}

function statusOf({ pipeline, pendingQuestions, legacy, status, version }: StatusPagesOptions): Status {
  const { config, catalog, servers } = pipeline();
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
    servers: catalog.status().map((row) => {
      const server = servers.get(row.name);
      return server === undefined ? row : { ...row, state: stateOf(server) };
    }),
  };
}

const stateOf = ({ upstream, openCalls }: Pick<ServerRuntime, "upstream" | "openCalls">): UpstreamState =>
  stateInUse(upstream, openCalls.count);

async function serverRows({
  pipeline,
  liveCalls,
  serverMembers,
}: StatusPagesOptions): Promise<readonly ServerRow[]> {
  const members = await Promise.all(serverMembers.map((each) => each.read()));
  const { servers, catalog } = pipeline();
  const lists = new Map(catalog.status().map((status) => [status.name, status]));
  const latencies = liveCalls.recent.upstreamLatencies();
  return [...servers.values()].map((server) => {
    const { config, upstream, breaker, semaphore, life, openCalls } = server;
    const latency = latencies.get(config.name);
    const { lastError, malformed = [] } = lists.get(config.name) ?? {};
    return {
      name: config.name,
      transport: config.transport.kind,
      state: stateOf(server),
      inUse: openCalls.count > 0,
      revisions: upstream.revisions ?? [],
      required: config.required,
      ...(isMisconfigured(config)
        ? { lastError: placedReasonOf(config), problems: config.problems }
        : reasonOf(server, lastError)),
      ...(upstream.facts !== undefined && { serverInfo: upstream.facts.serverInfo }),
      circuit: breaker.state,
      inFlight: semaphore.running,
      waiting: semaphore.queued,
      calls: liveCalls.callsOf(config.name),
      ...(latency !== undefined && { latencyMs: latency }),
      restarts: life.restarts,
      ...(life.startedAt !== undefined && { startedAt: isoTime(life.startedAt) }),
      ...timesOf(server),
      ...(config.transport.kind === "stdio" && {
        stderr: life.stderr,
        stderrAt: life.stderrAt.map(isoTime),
      }),
      malformed,
      ...signInOf(server, liveCalls.failures),
      ...(life.misfits.length > 0 && { misfits: life.misfits }),
      ...Object.assign({}, ...members.map((ofServer) => ofServer(config.name))),
    };
  });
}

/** Where persons sign in, the connection without credentials has none, which is no fault, and no command without a person fixes it. */
function reasonOf({ config, upstream }: ServerRuntime, lastError: string | undefined): Partial<ServerRow> {
  if (lastError === undefined) return {};
  const { name } = config;
  return upstream.state === "needs_sign_in" && signsInEachPerson(config)
    ? {
        lastError: `each person signs in at ${name}: cardea login ${name} --as ID, or the page that a call leads to`,
      }
    : { lastError };
}

/** Nothing for a server without sign-ins. */
function signInOf({ config, upstream }: ServerRuntime, failures: ServerFailures): Pick<ServerRow, "signIn"> {
  const { isPerPerson, needed } = needsOf(config, upstream, failures.signIns.of(config.name));
  if (!isPerPerson && needed.length === 0) return {};
  // Any server over HTTP might ask for credentials.
  if ("auth" in config && config.auth?.isAssumed === true && needed.length === 0) return {};
  const rows = needed.map(({ since, ...need }) => ({
    ...need,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
  }));
  return { signIn: { perPerson: isPerPerson, needed: rows } };
}

const isoTime = (at: number): string => new Date(at).toISOString();

/** Since when it fails, and when it is tried again. */
const timesOf = ({ life: { outage }, upstream: { nextTryAt } }: ServerRuntime) => ({
  ...(outage !== undefined && { failingSince: isoTime(outage.since) }),
  ...(nextTryAt !== undefined && { nextTryAt: isoTime(nextTryAt) }),
});

const catalogRows = ({ catalog }: Pipeline, kind: ListKind): readonly CatalogRow[] =>
  catalog
    .view(OPERATOR_CLIENT)
    .list(kind)
    .entries.map(({ route, item }) => {
      const title = stringAt(item, "title");
      return { name: route.exposed, server: route.upstream, ...(title !== undefined && { title }) };
    });

/** Sessions of legacy hosts, and modern ones that were seen. */
const sessionRows = ({ legacy, modern }: StatusPagesOptions): readonly SessionRow[] => [
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
];

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
