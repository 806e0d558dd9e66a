/** What the admin pages show, read from the running gateway at the moment somebody looks. */
import type { AdminPages, CatalogRow } from "./admin/pages.js";
import type { Readiness } from "./admin/server.js";
import { ANONYMOUS, type Client } from "./core/client.js";
import type { ListKind } from "./core/upstream.js";
import type { LegacyEdge } from "./downstream/legacy/edge.js";
import { explainCall, readSupposed } from "./explain.js";
import type { Inside } from "./inside.js";
import type { InputWaits } from "./telemetry/input-wait.js";
import { stringAt } from "./wire/json.js";

export interface Shown {
  readonly inside: () => Inside;
  readonly waits: Pick<InputWaits, "open">;
  readonly legacy: Pick<LegacyEdge, "sessions">;
  readonly ready: () => Readiness;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly url: () => string | undefined;
}

/** Sees everything that a host sees which declares nothing. */
const OPERATOR: Client = {
  principal: ANONYMOUS,
  affinity: "operator",
  session: false,
  scope: "",
  capabilities: {},
};

export function adminPages({ inside, waits, legacy, ready, version, startedAt, url }: Shown): AdminPages {
  const rows = (kind: ListKind): readonly CatalogRow[] =>
    inside()
      .catalog.view(OPERATOR)
      .list(kind)
      .entries.map(({ route, item }) => {
        const title = stringAt(item, "title");
        return { name: route.exposed, server: route.upstream, ...(title !== undefined && { title }) };
      });
  return {
    status() {
      const { config } = inside();
      const address = url();
      return {
        version,
        node: process.version,
        pid: process.pid,
        uptimeSeconds: Math.round((Date.now() - startedAt) / 1000),
        ...(config.file !== undefined && { config: config.file }),
        ...ready(),
        ...(address !== undefined && { url: address }),
        sessions: legacy.sessions().length,
        openQuestions: waits.open().length,
        servers: inside().catalog.status(),
      };
    },
    servers() {
      const { servers, catalog } = inside();
      const lists = new Map(catalog.status().map(({ name, malformed }) => [name, malformed]));
      return [...servers.values()].map(({ config, upstream, breaker, line }) => ({
        name: config.name,
        transport: config.transport.kind,
        state: upstream.state,
        revisions: upstream.spoken ?? [],
        required: config.required,
        ...(upstream.lastError !== undefined && { lastError: upstream.lastError }),
        ...(upstream.facts !== undefined && { serverInfo: upstream.facts.serverInfo }),
        circuit: breaker.state,
        inFlight: line.taken,
        waiting: line.waiting,
        malformed: lists.get(config.name) ?? [],
      }));
    },
    questions: () => waits.open(),
    decisions: () => inside().policy.decisions(),
    explain: (query) => explainCall(inside(), readSupposed(query)),
    catalog: () => ({
      tools: rows("tools"),
      prompts: rows("prompts"),
      resources: rows("resources"),
      resourceTemplates: rows("resourceTemplates"),
    }),
    sessions: () =>
      legacy.sessions().map(({ id: _, client, openedAt, idleMs, followed: __, ...shown }) => ({
        ...shown,
        era: "legacy",
        ...(client !== undefined && { client }),
        ageSeconds: Math.round((Date.now() - openedAt.getTime()) / 1000),
        idleSeconds: Math.round(idleMs / 1000),
      })),
  };
}
