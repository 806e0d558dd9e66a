/** The approvals that wait for a decision by another person, and those that were decided and not used yet. Bounded, in this process. */
import { LRUCache } from "lru-cache";
import { GatewayError } from "../../../core/errors.js";
import { entryLimit } from "../../../runtime/cache-limits.js";
import { approximateJsonLength } from "../../../wire/json-text.js";
import type { NotifyConfig } from "../config.js";
import { type Decider, refusalOf } from "./approvers.js";

/** Open approvals in all, and of one principal. */
export const MAX_OPEN = 1_000;
/** See `MAX_OPEN`. */
export const MAX_OPEN_OF_PRINCIPAL = 20;
/** Characters of what approvers see, in all. */
export const MAX_OPEN_LENGTH = 8_000_000;
/** A longer timer (ms) fires at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** What an approver decides. */
export type Decided = "accepted" | "declined";

/** How an approval ends. `withdrawn`: its caller gave up. */
export type ApprovalEnd = Decided | "expired" | "withdrawn";

/** A call that waits for a decision. */
export interface OpenApproval {
  /** One of `newRoundId`. */
  readonly id: string;
  /** The exposed name or URI, cut. */
  readonly tool: string;
  readonly server: string;
  /** The id of the caller, for people. */
  readonly principal: string;
  /** See `principalKey`. */
  readonly principalKey: string;
  readonly host?: string | undefined;
  /** The name of the rule. */
  readonly rule: string;
  /** As the rule has them. */
  readonly approvers: readonly string[];
  /** ms since 1970. */
  readonly at: number;
  readonly expiresAt: number;
  /** Without what rules redact. */
  readonly arguments: unknown;
}

/**
 * How an approval was opened: by its call; `again` after it was withdrawn; `continued` where another process has opened it, or an
 * earlier one.
 */
export type Opening = "first" | "again" | "continued";

/** How an approval has ended. */
export interface EndedApproval {
  readonly approval: OpenApproval;
  /** Who gets notices. */
  readonly notify: NotifyConfig | undefined;
  readonly end: ApprovalEnd;
  /** Who has decided. */
  readonly by?: Decider | undefined;
  /** It has ended at another replica, which reports it. */
  readonly isElsewhere?: true;
}

/** Learns what becomes of approvals. */
export interface ApprovalObserver {
  /** `notify`: who gets notices. */
  onOpened(approval: OpenApproval, notify: NotifyConfig | undefined, opening: Opening): void;
  /** Once, unless it opens again after it was withdrawn. */
  onEnded(ended: EndedApproval): void;
  /** The time of one is over, which ends it. Default: it expires at once. */
  onDue?: ((id: string) => void) | undefined;
}

interface Entry {
  readonly approval: OpenApproval;
  readonly notify: NotifyConfig | undefined;
  /** Characters of it. */
  readonly length: number;
  readonly timer: NodeJS.Timeout;
  /** Of the calls that are held for it. */
  readonly waiters: Set<Waiter>;
}

/** A call that is held. `stopping`: the process ends, and the call continues with its state. */
type Waiter = (end: ApprovalEnd | "stopping") => void;

/** Approvals by id; each is open until it is decided, expires or is withdrawn. */
export class OpenApprovals {
  readonly #open = new Map<string, Entry>();
  readonly #openOf = new Map<string, number>();
  /** How those have ended that are not open; a later round of the call may ask. */
  readonly #ended = new LRUCache<string, { readonly end: ApprovalEnd }>({
    ...entryLimit(10 * MAX_OPEN),
    perf: { now: () => performance.now() }, // resolved at each call, so that tests can inject time
  });

  /** Characters of all that are open. */
  #length = 0;
  #isStopping = false;

  constructor(private readonly observer?: ApprovalObserver) {}

  /** Whether calls are held for a short time only: the process ends. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The process ends: calls are held no longer, and their approvals stay open. */
  stop(): void {
    this.#isStopping = true;
    for (const { waiters } of this.#open.values()) for (const waiter of waiters) waiter("stopping");
  }

  get size(): number {
    return this.#open.size;
  }

  /** The newest first. */
  list(): readonly OpenApproval[] {
    return [...this.#open.values()].map(({ approval }) => approval).reverse();
  }

  get(id: string): OpenApproval | undefined {
    return this.#open.get(id)?.approval;
  }

  /** How it has ended; undefined while it is open, and where it is not known here. */
  endOf(id: string): ApprovalEnd | undefined {
    const end = this.#ended.get(id)?.end;
    // A call that was withdrawn may come back with its state, and waits again.
    return end === "withdrawn" ? undefined : end;
  }

  /** @throws GatewayError `queue_full` where too many are open */
  add(approval: OpenApproval, notify?: NotifyConfig, isContinued = false): void {
    const { id, principalKey: key, rule, server } = approval;
    if (this.#open.has(id)) return;
    const ofPrincipal = this.#openOf.get(key) ?? 0;
    const length = approximateJsonLength({ ...approval });
    const isFull = this.#open.size >= MAX_OPEN || this.#length + length > MAX_OPEN_LENGTH;
    if (isFull || ofPrincipal >= MAX_OPEN_OF_PRINCIPAL) {
      const whose = ofPrincipal >= MAX_OPEN_OF_PRINCIPAL ? "of this principal wait" : "wait at this gateway";
      const limit = ofPrincipal >= MAX_OPEN_OF_PRINCIPAL ? MAX_OPEN_OF_PRINCIPAL : MAX_OPEN;
      throw new GatewayError("queue_full", "gateway", `too many approvals ${whose} (limit ${limit})`, {
        ...{ rule, server, retryable: true, retryAfterMs: 60_000 },
      });
    }
    const wait = Math.min(Math.max(0, approval.expiresAt - Date.now()), MAX_TIMER_MS);
    const timer = setTimeout(() => this.#onDue(id), wait).unref();
    this.#open.set(id, { approval, notify, length, timer, waiters: new Set() });
    this.#length += length;
    this.#openOf.set(key, ofPrincipal + 1);
    const isAgain = this.#ended.get(id)?.end === "withdrawn";
    this.observer?.onOpened(approval, notify, isAgain ? "again" : isContinued ? "continued" : "first");
  }

  #onDue(id: string): void {
    if (this.observer?.onDue === undefined) this.end(id, "expired");
    else this.observer.onDue(id);
  }

  /** Ends it; false where it is not open. `by`: who has decided. */
  end(id: string, end: ApprovalEnd, by?: Decider): boolean {
    return this.#end(id, end, { by });
  }

  /** It has ended at another replica. One that a call is held for here is not withdrawn by that. */
  endElsewhere(approval: Pick<OpenApproval, "id" | "expiresAt">, end: ApprovalEnd): void {
    const { id } = approval;
    if (end === "withdrawn" && this.heldFor(id) > 0) return;
    if (this.#end(id, end, { isElsewhere: true }) || end === "withdrawn") return;
    this.#ended.set(id, { end }, { ttl: this.#keptMs(approval) });
  }

  #end(id: string, end: ApprovalEnd, how: Pick<EndedApproval, "by" | "isElsewhere">): boolean {
    const entry = this.#open.get(id);
    if (entry === undefined) return false;
    const { approval, notify, length, timer, waiters } = entry;
    clearTimeout(timer);
    this.#length -= length;
    this.#open.delete(id);
    const left = (this.#openOf.get(approval.principalKey) ?? 1) - 1;
    if (left > 0) this.#openOf.set(approval.principalKey, left);
    else this.#openOf.delete(approval.principalKey);
    this.#ended.set(id, { end }, { ttl: this.#keptMs(approval) });
    this.observer?.onEnded({ approval, notify, end, ...how });
    for (const waiter of waiters) waiter(end);
    return true;
  }

  /** An approver decides: undefined, or why that cannot be, as a sentence. */
  decide(id: string, decided: Decided, by: Decider): string | undefined {
    const approval = this.get(id);
    // One whose time is over may not have ended yet.
    if (approval === undefined || approval.expiresAt <= Date.now()) return "there is no such open approval";
    const refusal = refusalOf(approval, by);
    if (refusal === undefined) this.end(id, decided, by);
    return refusal;
  }

  /** Calls `waiter` with its end; the returned function stops that. Undefined where it is not open. */
  onEndOf(id: string, waiter: Waiter): (() => void) | undefined {
    const waiters = this.#open.get(id)?.waiters;
    if (waiters === undefined) return undefined;
    waiters.add(waiter);
    return () => void waiters.delete(waiter);
  }

  /** How many calls are held for it. */
  heldFor(id: string): number {
    return this.#open.get(id)?.waiters.size ?? 0;
  }

  /** Ends its timers; nothing expires from now on. */
  close(): void {
    for (const { timer } of this.#open.values()) clearTimeout(timer);
    this.#open.clear();
    this.#openOf.clear();
    this.#length = 0;
  }

  /** As long as a state that names it may come back. */
  #keptMs({ expiresAt }: Pick<OpenApproval, "expiresAt">): number {
    return Math.max(1, expiresAt - Date.now()) + KEPT_MS;
  }
}

/** An end is known this long (ms) after the approval would have expired. */
const KEPT_MS = 3_600_000;
