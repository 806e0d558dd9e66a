/** The data of the pages of `/api/v1/…`; the console shows the same. */
import type { MalformedEntry } from "../core/list-entries.js";
import type { StopSignal } from "../core/stop.js";
import type { UpstreamState } from "../core/upstream.js";

/** `GET /api/v1/status` */
interface StatusPage {
  readonly version: string;
  readonly node: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  /** The config file, if there is one. */
  readonly config?: string;
  /** The first 16 hex digits of the SHA-256 of the live config's text. */
  readonly configDigest?: string;
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** The URLs for hosts. */
  readonly url?: string;
  readonly [more: string]: unknown;
}

/** A problem of the config file. */
interface ConfigProblem {
  readonly file: string;
  /** From 1, like `column`. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** One row of `GET /api/v1/servers` */
interface ServerRow {
  /** The server's key in the config. */
  readonly name: string;
  /** `unknown` where the entry in the config is wrong. */
  readonly transport: "stdio" | "http" | "openapi" | "unknown";
  readonly state: UpstreamState;
  readonly required: boolean;
  /** The protocol revisions of its open connections: one, or two if it serves hosts of both eras. */
  readonly revisions?: readonly string[];
  /** Why it is not ready, as a sentence. */
  readonly lastError?: string;
  /** What is wrong with its entry in the config; absent unless it is misconfigured. */
  readonly problems?: readonly ConfigProblem[];
  /** The server's own name, version and title. */
  readonly serverInfo?: Readonly<Record<string, unknown>>;
  readonly circuit?: "closed" | "half_open" | "open";
  readonly inFlight?: number;
  readonly waiting?: number;
  /** Finished calls since the gateway started. */
  readonly calls?: number;
  /** Its response time over the gateway's last calls; absent if none of them reached it. */
  readonly latencyMs?: { readonly p50: number; readonly p95: number };
  /** Reconnections. */
  readonly restarts?: number;
  /** Time of its last connection, ISO 8601. */
  readonly startedAt?: string;
  /** The last lines of its stderr, oldest first, redacted. */
  readonly stderr?: readonly string[];
  /** Estimated tokens of its tool definitions in a model's context. */
  readonly tokens?: number;
  /** List entries that are omitted because hosts cannot read them. */
  readonly malformed?: readonly MalformedEntry[];
  /** Tools of an HTTP API whose answers did not fit their output schemas, since the gateway started; the last reason. */
  readonly misfits?: readonly { readonly tool: string; readonly reason: string; readonly count: number }[];
  readonly [more: string]: unknown;
}

/** One row of a list in `GET /api/v1/catalog` */
export interface CatalogRow {
  /** The exposed name or URI. */
  readonly name: string;
  readonly server: string;
  readonly title?: string;
}

/** `GET /api/v1/catalog` */
interface CatalogPage {
  readonly tools: readonly CatalogRow[];
  readonly prompts: readonly CatalogRow[];
  readonly resources: readonly CatalogRow[];
  readonly resourceTemplates: readonly CatalogRow[];
}

/** One row of `GET /api/v1/sessions`; never the session's id, which is a credential. */
interface SessionRow {
  readonly principal: string;
  /** The session mode of the host. */
  readonly era: "legacy" | "modern";
  /** The host's own name and version. */
  readonly client?: string;
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly scope: string;
  readonly ageSeconds: number;
  readonly idleSeconds: number;
  readonly [more: string]: unknown;
}

/** A row of `GET /api/v1/questions`: a server's pending question, without its content. */
interface QuestionRow {
  /** The server's key in the config. */
  readonly server: string;
  readonly kind: "sampling" | "elicitation" | "roots" | "approval";
  readonly principal: string;
  /** ISO 8601. */
  readonly since: string;
}

/** An invalid query of a page; the response carries its message. */
export class BadQuery extends Error {
  override readonly name = "BadQuery";
}

/**
 * Pages, keyed by their name after `/api/v1/`. They may throw a BadQuery; `signal` aborts when the client disconnects.
 */
export interface Pages {
  readonly [name: string]: (query: URLSearchParams, signal: StopSignal) => unknown;
}

/** The pages of one gateway; each returns the current state. */
export interface AdminPages extends Pages {
  readonly status: () => StatusPage;
  readonly servers: () => Promise<readonly ServerRow[]>;
  readonly catalog: () => CatalogPage;
  readonly sessions: () => readonly SessionRow[];
  readonly questions: () => readonly QuestionRow[];
}
