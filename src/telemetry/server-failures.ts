/** How many of the last calls to each server failed or timed out, and who needs a sign-in there? */
import type { CallRecord } from "../core/call-record.js";
import { SignInNeeds } from "./sign-in-needs.js";

/** The window moves in steps of this length (ms). */
const STEP_MS = 60_000;
/** A quarter of an hour. */
const STEPS = 15;
/** From this share of the counted calls on the failures are a problem, which lasts until they are below the second share. */
const BEGINS_AT = 0.25;
const ENDS_BELOW = 0.1;
/** Fewer failures are chance; a single time-out is not, as it may have taken minutes. */
const FEWEST = { failed: 3, timedOut: 1 } as const;

/** Length of the window, in seconds. */
export const FAILURE_WINDOW_SECONDS = (STEP_MS * STEPS) / 1_000;

/** Outcomes of calls that the server has received, or should have. A call that a rule or a limit refused says nothing of it. */
const FAILURES: ReadonlySet<string> = new Set([
  "tool_error",
  "upstream_unavailable",
  "upstream_closed",
  "upstream_rejected",
  "outcome_unknown",
  "too_large",
]);

/** What a call counts as; undefined: it does not. */
function kindOf(outcome: string): "ok" | "failed" | "timedOut" | undefined {
  if (outcome === "ok" || outcome === "timed_out") return outcome === "ok" ? "ok" : "timedOut";
  return FAILURES.has(outcome) ? "failed" : undefined;
}

/** A problem of calls to one server, in figures. */
export interface FailureFigures {
  /** When it began, in ms since 1970. */
  readonly since: number;
  /** How many of `calls` failed in this way. */
  readonly failed: number;
  /** Those in the window that the server has received, or should have. */
  readonly calls: number;
  /** The outcome of the last one of them. */
  readonly outcome: string;
}

/** The figures of the servers of one gateway: a few numbers for each, whatever their traffic. */
export class ServerFailures {
  readonly #now: () => number;
  readonly #servers = new Map<string, FailuresOfServer>();
  readonly signIns: SignInNeeds;

  /** `now`: ms since 1970. */
  constructor(now: () => number = () => Date.now()) {
    this.#now = now;
    this.signIns = new SignInNeeds(now);
  }

  add({ server, outcome, principal }: Pick<CallRecord, "server" | "outcome" | "principal">): void {
    if (server === "") return;
    if (outcome === "sign_in_required") this.signIns.refused(server, principal);
    if (outcome === "ok") this.signIns.ended(server, principal);
    const kind = kindOf(outcome);
    if (kind === undefined) return;
    const now = this.#now();
    this.#of(server, now).add(kind, outcome, now);
  }

  /** What is wrong with the calls to a server now. */
  of(server: string): { readonly failed?: FailureFigures; readonly timedOut?: FailureFigures } {
    return this.#servers.get(server)?.problems(this.#now()) ?? {};
  }

  /** The server was started again, or its entry has changed: the failures were its predecessor's. */
  forget(server: string): void {
    this.#servers.delete(server);
  }

  #of(server: string, now: number): FailuresOfServer {
    let own = this.#servers.get(server);
    if (own === undefined) {
      // Servers of earlier configs get no more calls.
      for (const [name, other] of this.#servers) if (other.isEmpty(now)) this.#servers.delete(name);
      own = new FailuresOfServer();
      this.#servers.set(server, own);
    }
    return own;
  }
}

/** One minute. */
interface Step {
  readonly index: number;
  ok: number;
  failed: number;
  timedOut: number;
}

class FailuresOfServer {
  #steps: Step[] = [];
  /** The problems that last: since when, and the outcome of the last failure. */
  readonly #since: { failed?: number; timedOut?: number } = {};
  readonly #outcomes = { failed: "tool_error", timedOut: "timed_out" };

  add(kind: "ok" | "failed" | "timedOut", outcome: string, now: number): void {
    const index = Math.floor(now / STEP_MS);
    let step = this.#steps.at(-1);
    if (step?.index !== index) {
      step = { index, ok: 0, failed: 0, timedOut: 0 };
      this.#steps.push(step);
    }
    step[kind] += 1;
    if (kind === "failed") this.#outcomes.failed = outcome;
    this.#update(now);
  }

  problems(now: number): { readonly failed?: FailureFigures; readonly timedOut?: FailureFigures } {
    this.#update(now);
    const [failed, timedOut] = [this.#figures("failed"), this.#figures("timedOut")];
    return { ...(failed !== undefined && { failed }), ...(timedOut !== undefined && { timedOut }) };
  }

  isEmpty(now: number): boolean {
    this.#update(now);
    return this.#steps.length === 0;
  }

  #update(now: number): void {
    const oldest = Math.floor(now / STEP_MS) - STEPS;
    this.#steps = this.#steps.filter(({ index }) => index > oldest);
    for (const kind of ["failed", "timedOut"] as const) {
      const count = this.#sum(kind);
      const share = count / this.#calls();
      if (count >= FEWEST[kind] && share >= BEGINS_AT) this.#since[kind] ??= now;
      else if (count === 0 || share < ENDS_BELOW) delete this.#since[kind];
    }
  }

  #figures(kind: "failed" | "timedOut"): FailureFigures | undefined {
    const since = this.#since[kind];
    if (since === undefined) return undefined;
    return { since, failed: this.#sum(kind), calls: this.#calls(), outcome: this.#outcomes[kind] };
  }

  #calls(): number {
    return this.#sum("ok") + this.#sum("failed") + this.#sum("timedOut");
  }

  #sum(kind: "ok" | "failed" | "timedOut"): number {
    return this.#steps.reduce((total, step) => total + step[kind], 0);
  }
}
