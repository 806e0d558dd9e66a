/** Which gauges are there? They are read from their owners at each scrape. */
import type { Metrics } from "./metrics.js";

/** The labels of each gauge. */
export interface GaugeLabels {
  /** 1 while the server can be reached, else 0. */
  readonly upstreamUp: { readonly server: string };
  /** 1 for the state that the server is in, 0 for the others. */
  readonly serverState: { readonly server: string; readonly state: string };
  /** Calls that a server is working on. */
  readonly inflightRequests: { readonly server: string };
  /** Calls queued for a server. */
  readonly queueDepth: { readonly server: string };
  /** 0 closed, 1 half open, 2 open. */
  readonly circuitState: { readonly server: string };
  /** Sessions of hosts, and hosts without one that were seen in the last 30 minutes. */
  readonly sessions: { readonly era: string };
  /** Event streams that are open towards hosts. */
  readonly streamsOpen: { readonly kind: "response" | "session" | "subscription" | "sse" };
  /** Running server processes that a killed gateway left behind. */
  readonly orphans: Readonly<Record<never, string>>;
  /** Calls whose server waits for an answer of the client. */
  readonly parkedCalls: Readonly<Record<never, string>>;
  /** Memory pressure, and what is refused: 0 nothing, 1 new streams, 2 new calls, 3 new connections. */
  readonly overloadLevel: Readonly<Record<never, string>>;
  /** Replicas of the cluster that run, with this one. */
  readonly clusterReplicas: Readonly<Record<never, string>>;
  /** 1 while the store of the cluster answers, else 0. */
  readonly clusterStoreUp: Readonly<Record<never, string>>;
  /** The limit of the heap, in bytes. */
  readonly heapLimit: Readonly<Record<never, string>>;
}

/** The name, help text and labels of each gauge. */
export const GAUGES: {
  readonly [K in keyof GaugeLabels]: readonly [name: string, help: string, ...labels: string[]];
} = {
  upstreamUp: ["cardea_upstream_up", "Whether the server can be reached (1) or not (0).", "server"],
  serverState: [
    "cardea_server_state",
    "State of the server: 1 for the present one, 0 for the others.",
    "server",
    "state",
  ],
  inflightRequests: ["cardea_inflight_requests", "Running calls of the server.", "server"],
  queueDepth: ["cardea_queue_depth", "Calls queued for the server.", "server"],
  circuitState: ["cardea_circuit_state", "Circuit breaker: 0 closed, 1 half open, 2 open.", "server"],
  sessions: [
    "cardea_sessions",
    "Sessions of hosts, and hosts without sessions that were seen in the last 30 minutes.",
    "era",
  ],
  streamsOpen: ["cardea_streams_open", "Open event streams to hosts.", "kind"],
  orphans: ["cardea_orphaned_processes", "Orphaned server processes of a killed gateway that still run."],
  overloadLevel: [
    "cardea_overload_level",
    "Memory pressure; refused: 0 nothing, 1 new streams, 2 new calls too, 3 new connections too.",
  ],
  clusterReplicas: ["cardea_cluster_replicas", "Replicas of the cluster that run, with this one."],
  clusterStoreUp: ["cardea_cluster_store_up", "Whether the store of the cluster answers (1) or not (0)."],
  heapLimit: ["cardea_heap_limit_bytes", "Heap limit of the process."],
  parkedCalls: ["cardea_parked_calls", "Parked calls: they wait for an answer to their server's question."],
};

type Kind = GaugeLabels["streamsOpen"]["kind"];

/** Counts the event streams open to hosts, by kind. */
export class OpenStreams {
  readonly #open: Record<Kind, number> = { response: 0, session: 0, subscription: 0, sse: 0 };

  constructor(metrics: Metrics) {
    for (const kind of ["response", "session", "subscription", "sse"] as const) {
      metrics.gauge("streamsOpen", { kind }, () => this.#open[kind]);
    }
  }

  opened(kind: Kind): void {
    this.#open[kind] += 1;
  }

  closed(kind: Kind): void {
    this.#open[kind] -= 1;
  }
}
