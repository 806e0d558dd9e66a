/** The latest decisions of the policy, for the metrics, the log and `/api/v1/decisions`. */
import type { JudgedKind } from "../config/config.js";
import type { Call, Route } from "../core/call.js";
import type { Logger } from "../core/logger.js";
import type { Decision as Effect, Metrics } from "../telemetry/metrics.js";
import type { Decision } from "./rules/rule-book.js";
import { judgedName } from "./rules/subject.js";

/** One row of `/api/v1/decisions`: who wanted what, and which rule said what to it. Arguments stay out. */
export interface DecisionRow {
  /** ISO 8601. */
  readonly time: string;
  readonly call: number;
  readonly on: JudgedKind;
  readonly method: string;
  readonly target: string;
  readonly server: string;
  readonly principal: string;
  readonly effect: Effect;
  /** The rule's name, or `default`. */
  readonly rule: string;
  /** Why the rule's expression could not be answered, where it could not. */
  readonly failed?: string;
}

/** How many are kept. */
const KEPT = 1000;

export class DecisionLog {
  readonly #rows = new Array<DecisionRow | undefined>(KEPT);
  #written = 0;
  readonly #metrics: Metrics;
  readonly #logger: Logger;

  constructor(metrics: Metrics, logger: Logger) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  add(call: Call, route: Route, on: JudgedKind, decision: Decision): void {
    const rule = decision.rule?.name ?? "default";
    this.#metrics.decided(decision.effect, rule);
    const row: DecisionRow = {
      time: new Date().toISOString(),
      call: call.id,
      on,
      method: call.method,
      target: judgedName(route).slice(0, 200),
      server: route.upstream,
      principal: call.client.principal.id,
      effect: decision.effect,
      rule,
      ...(decision.failed !== undefined && { failed: decision.failed }),
    };
    this.#rows[this.#written % KEPT] = row;
    this.#written += 1;
    if (decision.failed !== undefined) {
      this.#logger.warn({ call: call.id, rule, why: decision.failed }, "a rule could not be answered");
    } else if (decision.effect !== "allow") this.#logger.debug({ ...row }, "the policy decided");
  }

  /** The newest first. */
  latest(count = KEPT): readonly DecisionRow[] {
    const rows: DecisionRow[] = [];
    for (let at = this.#written - 1; at >= 0 && rows.length < Math.min(count, KEPT); at -= 1) {
      const row = this.#rows[at % KEPT];
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }
}
