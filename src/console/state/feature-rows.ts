/** The rows and members of rows that features add, as far as the console shows them. */
import type { ServerRow } from "../../features/admin/rows.js";

/** One of `servers` */
export interface ShownServer extends ServerRow {
  /** Of the definitions of its tools. */
  readonly tokens?: number;
  /** How many of its definitions differ from those that are approved, are held, and have findings of the scan. */
  readonly trust?: { readonly differences: number; readonly held: number; readonly findings: number };
}

/** The page `trust` of one server. */
export interface TrustPage {
  readonly servers: readonly {
    readonly findings: readonly {
      readonly kind: string;
      readonly name: string;
      readonly rule: string;
      readonly severity: string;
      readonly message: string;
      readonly pointer: string;
      readonly excerpt: string;
    }[];
    readonly differences: readonly {
      readonly kind: string;
      readonly name: string;
      readonly change: string;
      readonly text: string;
    }[];
  }[];
}

/** Whether the gateway counts tokens. */
export const countsTokens = (servers: readonly ShownServer[]): boolean =>
  servers.every(({ tokens }) => tokens !== undefined);

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

/** One of `results/tools`: what is kept of the results of a tool */
export interface KeptResultsRow {
  readonly server: string;
  readonly tool: string;
  readonly results: number;
  readonly bytes: number;
  readonly lastKeptAt: string;
  readonly lastReadAt?: string;
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

/** One of `approvals` that is remembered. */
export interface ApprovalRow {
  readonly id: string;
  readonly rule: string;
  readonly principal: string;
  readonly target: string;
  readonly until: string;
  readonly worker?: number;
}

/** One of `approvals` that waits for a decision. */
export interface WaitingApproval {
  readonly id: string;
  readonly tool: string;
  readonly server: string;
  readonly principal: string;
  readonly host?: string;
  readonly rule: string;
  readonly at: string | number;
  readonly expiresAt: string | number;
  readonly arguments?: unknown;
  readonly worker?: number;
}

/** Whether it waits for a decision; else it is remembered. */
export const isWaiting = (row: ApprovalRow | WaitingApproval): row is WaitingApproval => "expiresAt" in row;

/** What one of the rules or limits of `policy` is about, and how often it has applied. */
interface PolicyRow {
  readonly name: string;
  readonly on: string;
  readonly matches: Readonly<Record<string, unknown>>;
  readonly hits: number;
  readonly lastHitAt?: string;
}

/** One of its rules */
export interface RuleRow extends PolicyRow {
  readonly effect: string;
}

/** One of its limits */
export interface LimitRow extends PolicyRow {
  readonly per: string;
  readonly rate?: RateRow;
  readonly quota?: RateRow;
  readonly concurrency?: number;
  readonly timeoutMs?: number;
}

/** Calls in a time. */
export interface RateRow {
  readonly count: number;
  readonly windowMs: number;
}

/** The page `policy` */
export interface PolicyPage {
  readonly default: string;
  readonly rules: readonly RuleRow[];
  readonly limits: readonly LimitRow[];
}
