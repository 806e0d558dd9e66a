/** The latest decisions of the policy, for the metrics, the log and `/api/v1/decisions`. */

import { LRUCache } from "lru-cache";
import type { Call, Route } from "../../core/call.js";
import type { Logger } from "../../core/logger.js";
import { shortText } from "../../core/short-text.js";
import { entryLimit, retainedCopy } from "../../runtime/cache-limits.js";
import type { InteractionKind } from "./config.js";
import type { DecisionLabel as Effect, PolicyMetrics } from "./metrics.js";
import { type Decision as DecisionOfRules, nameForRules } from "./rules/policy-input.js";

/** What is logged: that of rules, or of a constraint that only observes. */
type Decision = Omit<DecisionOfRules, "effect"> & { readonly effect: DecisionOfRules["effect"] | "observe" };

/** One row of `/api/v1/decisions`: who wanted what, and which rule decided what. It has no arguments. */
export interface DecisionRow {
  /** ISO 8601. */
  readonly time: string;
  readonly call: number;
  readonly on: InteractionKind;
  readonly method: string;
  readonly target: string;
  readonly server: string;
  readonly principal: string;
  /** `approve` where a person's approval is needed; `decline` where it was not given. */
  readonly effect: Effect;
  /** The outcome of an approval; absent until it is answered, and for all other effects. */
  readonly answer?: ApprovalAnswer;
  /** The rule's name, or `default`. */
  readonly rule: string;
  /** Why the rule's expression could not be answered, where it could not. */
  readonly failed?: string;
}

/** `remembered`: an earlier approval of the same call still holds. */
export type ApprovalAnswer = "accepted" | "declined" | "remembered";

/** How many are kept, and how many characters of each text. */
const MAX_ROWS = 1000;
const MAX_TEXT_LENGTH = 200;

/** The latest decisions, for the log, the metrics and `/api/v1/decisions`; bounded in rows and characters. */
export class DecisionLog {
  readonly #rows = new Array<DecisionRow | undefined>(MAX_ROWS);
  #written = 0;
  /** Where the rows of open questions for an approval stand, by the one use of their answer. */
  readonly #open = new LRUCache<string, number>(entryLimit(MAX_ROWS));
  readonly #metrics: PolicyMetrics;
  readonly #logger: Logger;

  constructor(metrics: PolicyMetrics, logger: Logger) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  add(call: Call, route: Route, on: InteractionKind, decision: Decision): void {
    countHits(decision);
    this.#count(this.#write(call, route, on, decision), decision);
  }

  /** A person is asked for an approval, whose answer will come with `nonce`. That decides, so nothing is counted yet. */
  recordQuestion(call: Call, route: Route, decision: Decision, nonce: string): void {
    countHits(decision);
    this.#open.set(nonce, this.#written);
    this.#write(call, route, "call", decision);
  }

  /** Records the outcome of the approval with `nonce`; undefined where no question was needed. */
  recordAnswer(call: Call, route: Route, decision: Decision, answer: ApprovalAnswer, nonce?: string): void {
    const position = nonce === undefined ? undefined : this.#open.get(nonce);
    if (nonce === undefined) countHits(decision);
    else this.#open.delete(nonce);
    const known =
      position === undefined || this.#written - position > MAX_ROWS
        ? undefined
        : this.#rows[position % MAX_ROWS];
    const row = known ?? this.#write(call, route, "call", decision);
    const decided: DecisionRow = { ...row, answer, effect: answer === "declined" ? "decline" : row.effect };
    this.#rows[(known === undefined ? this.#written - 1 : (position ?? 0)) % MAX_ROWS] = decided;
    noteDecision(call, decided.effect, decided.rule);
    this.#count(decided, decision);
  }

  #write(call: Call, route: Route, on: InteractionKind, decision: Decision): DecisionRow {
    const row: DecisionRow = {
      time: new Date().toISOString(),
      call: call.id,
      on,
      method: retainedCopy(shortText(call.method, MAX_TEXT_LENGTH)),
      target: retainedCopy(shortText(nameForRules(route), MAX_TEXT_LENGTH)),
      server: route.upstream,
      principal: call.client.principal.id,
      effect: decision.effect,
      rule: decision.rule?.name ?? "default",
      ...(decision.failed !== undefined && {
        failed: retainedCopy(shortText(decision.failed, MAX_TEXT_LENGTH)),
      }),
    };
    this.#rows[this.#written % MAX_ROWS] = row;
    this.#written += 1;
    if (on === "call") noteDecision(call, row.effect, row.rule);
    return row;
  }

  #count({ time: _, ...row }: DecisionRow, { failed }: Decision): void {
    this.#metrics.policyDecided(row.effect, row.rule);
    if (failed !== undefined) {
      this.#logger.warn({ call: row.call, rule: row.rule, why: failed }, "a rule could not be evaluated");
    } else if (row.effect !== "allow") {
      // The line has a time of its own.
      this.#logger.debug(row, "the policy decided");
    }
  }

  /** The newest first. */
  latest(count = MAX_ROWS): readonly DecisionRow[] {
    const rows: DecisionRow[] = [];
    for (let at = this.#written - 1; at >= 0 && rows.length < Math.min(count, MAX_ROWS); at -= 1) {
      const row = this.#rows[at % MAX_ROWS];
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }
}

/** The rule has decided; those that only redact count where the call is made. */
function countHits({ effect, hits, redactingHits }: Decision): void {
  hits?.add();
  if (redactingHits === undefined || effect === "deny" || effect === "hide") return;
  for (const other of redactingHits) other.add();
}

/** Tells the record of the call what was decided; the last decision stands. */
function noteDecision({ record }: Call, effect: Effect, rule: string): void {
  if (record === undefined) return;
  record.decision = effect;
  record.rule = rule;
}
