/** Which data the pages of `/api/v1/…` return; the console shows the same. */
import type { MalformedEntry } from "../core/list-entries.js";
import type { StopSignal } from "../core/stop.js";

/** `GET /api/v1/status` */
interface StatusPage {
  readonly version: string;
  readonly node: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  /** The config file, where there is one. */
  readonly config?: string;
  /** Of the text of that file that is in effect: the first 16 hex digits of its SHA-256. */
  readonly configDigest?: string;
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** Where hosts connect. */
  readonly url?: string;
  readonly [more: string]: unknown;
}

/** One row of `GET /api/v1/servers` */
interface ServerRow {
  /** Its key in the config. */
  readonly name: string;
  readonly transport: "stdio" | "http" | "openapi";
  readonly state: "starting" | "ready" | "idle" | "needs_sign_in" | "backoff" | "stopped";
  readonly required: boolean;
  /** The protocol revisions of its open connections: one, or two where it serves hosts of both eras. */
  readonly revisions?: readonly string[];
  /** Why it is not ready, in a plain sentence. */
  readonly lastError?: string;
  /** What the server says of itself: name, version, title. */
  readonly serverInfo?: Readonly<Record<string, unknown>>;
  readonly circuit?: "closed" | "half_open" | "open";
  readonly inFlight?: number;
  readonly waiting?: number;
  /** Finished calls since the gateway started. */
  readonly calls?: number;
  /** How long it took to answer, over the last calls of the gateway; absent where none of them was its. */
  readonly latencyMs?: { readonly p50: number; readonly p95: number };
  /** How often its connection was opened again. */
  readonly restarts?: number;
  /** When its last connection was opened, ISO 8601. */
  readonly startedAt?: string;
  /** The last lines that its process wrote to stderr, oldest first, without secrets. */
  readonly stderr?: readonly string[];
  /** An estimate of what the definitions of its tools take of a model's context, in tokens. */
  readonly tokens?: number;
  /** Entries that the server lists and that are left out, as hosts cannot read them. */
  readonly malformed?: readonly MalformedEntry[];
  readonly [more: string]: unknown;
}

/** One row of a list in `GET /api/v1/catalog` */
export interface CatalogRow {
  /** The name or URI that hosts see. */
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
  /** How the host keeps its state. */
  readonly era: "legacy" | "modern";
  /** The host's own name and version. */
  readonly client?: string;
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly scope: string;
  readonly ageSeconds: number;
  readonly idleSeconds: number;
  readonly [more: string]: unknown;
}

/** One row of `GET /api/v1/questions`: what some server waits for; never what it asked. */
interface QuestionRow {
  /** Its key in the config. */
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

/** Pages by their name after `/api/v1/`. They may throw a BadQuery; `signal` aborts when the client disconnects. */
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
