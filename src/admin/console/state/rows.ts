/** The rows of `/api/v1` pages, with the members that the console shows. */

/** `status` */
export interface Status {
  readonly version: string;
  readonly node: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly config?: string;
  readonly configDigest?: string;
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly url?: string;
  readonly workers?: readonly { readonly worker: number; readonly pid: number; readonly ready: boolean }[];
}

/** One of `servers` */
export interface ServerRow {
  readonly name: string;
  readonly transport: string;
  readonly state: string;
  readonly required: boolean;
  readonly revisions?: readonly string[];
  readonly lastError?: string;
  readonly serverInfo?: { readonly name?: string; readonly version?: string; readonly title?: string };
  readonly circuit?: string;
  readonly inFlight?: number;
  readonly waiting?: number;
  readonly tokens?: number;
  readonly malformed?: readonly Readonly<Record<string, unknown>>[];
  readonly restarts?: number;
  readonly stderr?: readonly string[] | string;
  readonly latencyMs?: { readonly p50?: number; readonly p95?: number };
  readonly startedAt?: string | number;
}

/** One entry of a list of `catalog` */
interface CatalogRow {
  readonly name: string;
  readonly server: string;
  readonly title?: string;
}

/** `catalog` */
export interface Catalog {
  readonly tools: readonly CatalogRow[];
  readonly prompts: readonly CatalogRow[];
  readonly resources: readonly CatalogRow[];
  readonly resourceTemplates: readonly CatalogRow[];
}

/** One of `sessions` */
export interface SessionRow {
  readonly principal: string;
  readonly era: string;
  readonly client?: string;
  readonly scope: string;
  readonly ageSeconds: number;
  readonly idleSeconds: number;
  /** Names the session for actions; it is no credential. */
  readonly handle?: string;
}

/** One of `questions` */
export interface QuestionRow {
  readonly server: string;
  readonly kind: string;
  readonly principal: string;
  readonly since: string;
}

/** One of `decisions` */
export interface DecisionRow {
  readonly time: string;
  readonly call: number;
  readonly on: string;
  readonly method: string;
  readonly target: string;
  readonly server: string;
  readonly principal: string;
  readonly effect: string;
  readonly answer?: string;
  readonly rule: string;
  readonly failed?: string;
}

/** One of `logins` */
export interface LoginRow {
  readonly server: string;
  readonly principal: string;
  readonly state: string;
  readonly issuer?: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: string | number;
  readonly isRenewed?: boolean;
}

/** One of `calls` */
export interface CallRow {
  readonly id: number;
  readonly worker?: number;
  readonly at: number;
  readonly principal: string;
  readonly host: string;
  readonly method: string;
  readonly target: string;
  readonly server: string;
  readonly outcome: string;
  readonly rule?: string;
  readonly decision?: string;
  readonly traceId?: string;
  readonly ms: {
    readonly total: number;
    readonly queue: number;
    readonly policy: number;
    readonly upstream: number;
    readonly input: number;
  };
  /** JSON, which may be cut. */
  readonly arguments?: string;
  readonly result?: string;
}

/** One of `calls/running` */
export interface RunningCall {
  readonly id: number;
  readonly worker?: number;
  readonly startedAt: number | string;
  readonly principal?: string;
  readonly method?: string;
  readonly target?: string;
  readonly server?: string;
}

/** `history`: one value per step. */
export interface History {
  /** In ms. */
  readonly step: number;
  /** Milliseconds since 1970. */
  readonly at: readonly number[];
  readonly calls: readonly (number | null)[];
  readonly errors: readonly (number | null)[];
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly waits: readonly (number | null)[];
}
