/** Has another person approved this call? The call is held while the gateway waits for the decision, and then continues in rounds. */
import { type Call, PROGRESS_METHOD, progressTokenOf, type Reply, type Route } from "../../../core/call.js";
import { GatewayError } from "../../../core/errors.js";
import { principalKey } from "../../../core/principal.js";
import { shortText } from "../../../core/short-text.js";
import { newRoundId } from "../../../resilience/used-rounds.js";
import { retainedCopy } from "../../../runtime/cache-limits.js";
import { stringAt } from "../../../wire/json.js";
import type { RuleConfig } from "../config.js";
import { identityOf } from "../identity.js";
import type { ApprovalsOfReplicas } from "./approvals-of-replicas.js";
import type { ApprovalEnd, OpenApproval, OpenApprovals } from "./open-approvals.js";

/**
 * How long (ms) a call is held before its host is answered with a state, with which it calls again: requests of hosts time out after 60 s
 * without an answer. The official SDK makes eleven such requests, which is 10 min, the default of `approvalTimeout`.
 */
export const HOLD_MS = 55_000;
/** The same while the process stops, for a host that calls again at it, in ms. */
const STOPPING_HOLD_MS = 3_000;
/** How often (ms) a host that wants progress gets some. */
const PROGRESS_MS = 10_000;
/** The progress of a call is its waiting time, in this unit (ms): so small that what the server reports afterwards is an increase. */
const PROGRESS_UNIT = 1e9;
/** Characters of names. */
const MAX_NAME = 500;

/** A call that waits, in the round that it is in. */
export interface WaitingCall {
  readonly call: Call;
  readonly route: Route;
  readonly rule: RuleConfig;
  /** The digest of the call that is shown. */
  readonly shown: string;
  /** What approvers see of the arguments; read where the approval is opened. */
  readonly args: () => Promise<unknown>;
  /** Called with the id of a new approval, before it can be decided. */
  readonly onOpened: (id: string) => void;
}

/** What became of a wait. */
export type WaitOutcome =
  | { readonly kind: "ended"; readonly id: string; readonly end: ApprovalEnd }
  | { readonly kind: "again"; readonly reply: Reply };

/** Waits for decisions about the calls of all configs. */
export class SecondPerson {
  readonly #open: OpenApprovals;
  readonly #replicas: Pick<ApprovalsOfReplicas, "isShared" | "endOf"> | undefined;

  constructor(open: OpenApprovals, replicas?: Pick<ApprovalsOfReplicas, "isShared" | "endOf">) {
    this.#open = open;
    this.#replicas = replicas;
  }

  /**
   * Waits for the decision about a call. @throws GatewayError `queue_full` where too many wait, `cancelled` where the host cancels it,
   * `state_rejected` where the state is of another call
   */
  async wait(waiting: WaitingCall): Promise<WaitOutcome> {
    const { call, rule, shown } = waiting;
    const known = call.inputResponses?.state?.policy?.waits;
    if (known !== undefined && (known.rule !== identityOf(rule) || known.call !== shown)) {
      this.#open.end(known.id, "withdrawn");
      const sentence = "the config has changed this call since its approval was asked for; make it again";
      throw new GatewayError("state_rejected", "gateway", sentence);
    }
    const { id, at, expiresAt } = known ?? started(rule);
    const end = this.#open.endOf(id) ?? (known === undefined ? undefined : await this.#endElsewhere(known));
    if (end !== undefined) return { kind: "ended", id, end };
    if (expiresAt <= Date.now()) return { kind: "ended", id, end: "expired" };
    if (this.#open.get(id) === undefined) {
      const approval = await opened(waiting, id, at, expiresAt);
      // Another replica may have ended it meanwhile.
      const endMeanwhile = this.#open.endOf(id);
      if (endMeanwhile !== undefined) return { kind: "ended", id, end: endMeanwhile };
      this.#open.add(approval, rule.notify, known !== undefined);
      if (known === undefined) waiting.onOpened(id);
    }
    const began = performance.now();
    const outcome = await this.#held(id, call, at).finally(() => {
      if (call.record !== undefined) call.record.heldMs += performance.now() - began;
    });
    if (outcome !== "held") return { kind: "ended", id, end: outcome };
    const waits = {
      id,
      rule: identityOf(rule),
      call: shown,
      at,
      expiresAt,
      isLocal: this.#replicas?.isShared !== true,
    };
    const state = { policy: { waits, rounds: 0 } };
    const isWaiting = this.#open.isStopping ? "stopping" : true;
    return { kind: "again", reply: { kind: "input_required", requests: {}, state, isWaiting } };
  }

  /** The caller no longer needs it. */
  withdraw(id: string): void {
    this.#open.end(id, "withdrawn");
  }

  /** The end of an approval that is not known here, as another replica knows it. */
  async #endElsewhere({ id, expiresAt }: { readonly id: string; readonly expiresAt: number }) {
    if (this.#replicas?.isShared !== true || this.#open.get(id) !== undefined) return undefined;
    const end = await this.#replicas.endOf(id);
    if (end !== undefined) this.#open.endElsewhere({ id, expiresAt }, end);
    return end === "withdrawn" ? undefined : end;
  }

  /** Its end, or that it is open after `HOLD_MS`. */
  #held(id: string, call: Call, at: number): Promise<ApprovalEnd | "held"> {
    const { signal } = call;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        endProgress();
        unwatch?.();
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        over();
        if (this.#open.heldFor(id) === 0) this.#open.end(id, "withdrawn");
        const sentence = "the client cancelled this call while it waited for an approval";
        reject(new GatewayError("cancelled", "downstream", sentence, { cause: signal.reason }));
      };
      const holdMs = this.#open.isStopping ? STOPPING_HOLD_MS : HOLD_MS;
      const timer = setTimeout(() => {
        over();
        resolve("held");
      }, holdMs);
      const endProgress = reportProgress(call, at);
      const unwatch = this.#open.onEndOf(id, (end) => {
        over();
        resolve(end === "stopping" ? "held" : end);
      });
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
    });
  }
}

function started({ approvalTimeoutMs = 0 }: RuleConfig) {
  const at = Date.now();
  return { id: newRoundId(at), at, expiresAt: at + approvalTimeoutMs };
}

async function opened(
  { call, route, rule, args }: WaitingCall,
  id: string,
  at: number,
  expiresAt: number,
): Promise<OpenApproval> {
  const { principal, info } = call.client;
  const host = hostOf(stringAt(info, "name"), stringAt(info, "version"));
  return {
    id,
    tool: retainedCopy(shortText(route.exposed, MAX_NAME)),
    server: route.upstream,
    principal: principal.id,
    principalKey: principalKey(principal),
    ...(host !== undefined && { host }),
    rule: rule.name,
    approvers: rule.approvers ?? [],
    at,
    expiresAt,
    arguments: await args(),
  };
}

const hostOf = (name: string | undefined, version: string | undefined): string | undefined =>
  name === undefined
    ? undefined
    : retainedCopy(shortText(version === undefined ? name : `${name} ${version}`, MAX_NAME));

/** Tells a host that wants progress that its call is alive, until the returned function is called. */
function reportProgress({ params, notify }: Call, at: number): () => void {
  const progressToken = progressTokenOf(params);
  if (progressToken === undefined) return () => {};
  const report = (): void => {
    // It must increase over all rounds.
    const progress = (Date.now() - at) / PROGRESS_UNIT;
    const message = "waiting for an approval by another person";
    notify({ method: PROGRESS_METHOD, params: { progressToken, progress, message } });
  };
  report();
  const timer = setInterval(report, PROGRESS_MS);
  return () => clearInterval(timer);
}
