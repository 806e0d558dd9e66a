/**
 * A shared rate limit or quota without a store access per call: each replica leases calls from the shared token bucket
 * and spends them locally; near the limit leases shrink to single calls.
 */
import type { BudgetSettings, SharedBudget } from "../../core/replicas.js";
import { type SharedStore, StoreUnavailable } from "../../core/shared-store.js";
import { GIVE_BACK, LEASE_QUOTA, LEASE_RATE } from "./lease-scripts.js";
import { OwnShare, type ShareSettings } from "./own-share.js";
import type { StoreClock } from "./store-clock.js";

/** When the store was unavailable, by `performance.now()`; `until` is absent while it is. */
export interface Outage {
  readonly since: number;
  readonly until?: number;
}

/** The source of leases, and the behaviour during an outage. */
export interface LeaseContext {
  readonly store: SharedStore;
  readonly onOutage: "share" | "closed" | "open";
  /** The last outage of the store; undefined before the first. */
  readonly outage: () => Outage | undefined;
  /** Of the store; one for all budgets. */
  readonly clock: StoreClock;
  /** 1 / number of replicas. */
  readonly share: () => number;
  /** Called with each command. */
  readonly onUse: () => void;
  /** Called if the store responds with an error: its limits then count as in an outage. */
  readonly onRefused: (error: unknown) => void;
}

/**
 * A replica's share is empty when an outage starts. Calls in this first period (ms) wait for its end, so that an outage refuses
 * nothing that is far below the limit.
 */
const FIRST_MOMENT_MS = 250;
/** A replica has stopped waiting for a lease after this time (ms): the store must not grant it then. */
const LATE_MS = 500;
/** The answer of the store to a lease that it runs too late. */
const LATE = -1;
/** Maximum calls per lease. */
const WANTED = 64;
/** `Retry-After` in ms of a replica that cannot count. */
const CLOSED_MS = 1_000;
/** A refused lease is retried after this time, in ms. */
const REFUSED_MS = 1_000;

/** What the store said last, by its own clock: sent with each lease, as the store may lose its data. */
interface Seen {
  /** Tokens of the bucket, or used calls of the window. */
  readonly count: string;
  /** When, or the end of the window. */
  readonly at: string;
}

/** One bucket, as seen by this replica. */
export class LeasedBudget implements SharedBudget {
  /** Remaining calls of the lease. */
  #left = 0;
  /** End of the quota's window, by `performance.now()`: remaining calls expire then. */
  #until = Number.POSITIVE_INFINITY;
  #refusedUntil = 0;
  #usedAt = performance.now();
  #asking: Promise<void> | undefined;
  #isReporting = false;
  /** Since when the store refuses leases, e.g. for missing permissions, by `performance.now()`. */
  #refusedSince: number | undefined;
  /** This replica's share during an outage; the next lease reports it. */
  #own: OwnShare | undefined;
  #seen: Seen | undefined;

  constructor(
    /** Relative to the prefix of the store. */
    readonly key: string,
    private readonly settings: BudgetSettings,
    private readonly context: LeaseContext,
  ) {}

  get waitMs(): number {
    this.#dropEnded();
    if (this.#left >= 1) return 0;
    if (this.#isAlone) return this.#waitAlone();
    return Math.max(1, this.#refusedUntil - performance.now());
  }

  get knownWaitMs(): number {
    if (this.#isAlone) return this.waitMs;
    return this.#left >= 1 ? 0 : Math.max(0, this.#refusedUntil - performance.now());
  }

  get isClosed(): boolean {
    return this.context.onOutage === "closed" && this.#isAlone && this.waitMs > 0;
  }

  spend(): () => void {
    this.#usedAt = performance.now();
    this.#dropEnded();
    if (this.#left >= 1) {
      this.#left -= 1;
      const until = this.#until;
      return () => {
        if (until === this.#until) this.#left += 1;
      };
    }
    return this.#filledShare().share.spend();
  }

  prepare(): Promise<void> | undefined {
    this.#dropEnded();
    if (this.#left >= 1) return undefined;
    if (!this.context.store.isUp) return this.#firstMoment();
    // A report leases nothing.
    if (this.#asking !== undefined && this.#isReporting) return this.#asking.then(() => this.prepare());
    if (performance.now() < this.#refusedUntil) return undefined;
    return this.#ask(WANTED);
  }

  /** Tells the store what was spent of this replica's share in an outage that has ended. */
  async report(): Promise<void> {
    if (this.#own !== undefined && this.context.store.isUp && this.#asking === undefined) await this.#ask(0);
  }

  /** Returns the lease if nothing was spent since `before` (by `performance.now()`). */
  async giveBack(before: number): Promise<void> {
    this.#dropEnded();
    const count = this.#left;
    if (count < 1 || this.#usedAt > before || this.#asking !== undefined) return;
    this.#left = 0;
    const { kind } = this.settings;
    const capacity = kind === "rate" ? this.settings.capacity : 0;
    this.context.onUse();
    // A lease that cannot be returned is lost for one window at most.
    await this.context.store.run(GIVE_BACK, [this.key], [String(count), String(capacity)]).catch(() => {});
  }

  get #isAlone(): boolean {
    return this.#refusedSince !== undefined || !this.context.store.isUp;
  }

  #ask(wanted: number): Promise<void> {
    this.#isReporting = wanted === 0;
    this.#asking ??= this.#lease(wanted).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #lease(wanted: number): Promise<void> {
    const { store, share, clock, onUse } = this.context;
    const own = this.#own;
    this.#own = undefined;
    const replicas = Math.max(1, Math.round(1 / share()));
    const args = [...this.#limitArgs, wanted, replicas, ...this.#reportArgs(own)].map(String);
    const seen = [this.#seen?.count ?? "", this.#seen?.at ?? ""];
    onUse();
    try {
      const script = this.settings.kind === "rate" ? LEASE_RATE : LEASE_QUOTA;
      const run = async (late: number | undefined) => {
        const all = [...args, ...seen, String(late ?? "")];
        return (await store.run(script, [this.key], all)) as readonly unknown[];
      };
      let answer = await run(clock.after(LATE_MS));
      // In time after all: the clock of the store was turned.
      if (answer[0] === LATE) answer = await run(undefined);
      this.#take(wanted, answer);
    } catch (error) {
      if (own !== undefined) this.#own = OwnShare.merged(own, this.#own);
      // The store reports its outage itself; meanwhile this replica's share counts.
      if (error instanceof StoreUnavailable) return this.#firstMoment();
      this.#refusedSince ??= performance.now();
      this.#refusedUntil = performance.now() + REFUSED_MS;
      this.context.onRefused(error);
    }
  }

  #take(wanted: number, answer: readonly unknown[]): void {
    const [granted = 0, waitMs = 0] = answer.map(Number);
    const now = performance.now();
    this.#refusedSince = undefined;
    this.#left += granted;
    if (wanted > 0) this.#refusedUntil = granted === 0 ? now + waitMs : 0;
    if (this.settings.kind === "quota" && answer[2] !== undefined) this.#until = now + Number(answer[2]);
    const [count, at] = this.settings.kind === "quota" ? answer.slice(3) : answer.slice(2);
    if (count === undefined || at === undefined) return;
    this.#seen = { count: `${Number(count)}`, at: typeof at === "string" ? at : `${Number(at)}` };
    this.context.clock.read(Number(at) - (this.settings.kind === "quota" ? Number(answer[2]) : 0));
  }

  get #limitArgs(): readonly [number, number] {
    const { settings } = this;
    return settings.kind === "rate"
      ? [settings.capacity, settings.perMs]
      : [settings.count, settings.windowMs];
  }

  #reportArgs(own: OwnShare | undefined): readonly number[] {
    if (own === undefined) return [0, 0, 0, 0, 0];
    const now = performance.now();
    const end = this.#refusedSince === undefined ? (this.context.outage()?.until ?? now) : now;
    const { spent, unspent, burst, perMs, aloneMs, agoMs } = own.report(
      this.#shareSettings,
      this.#aloneSince,
      end,
      now,
    );
    if (this.settings.kind === "quota") return [spent, burst, perMs, aloneMs, agoMs];
    // Where each replica counts separately, what was spent beyond the rate is deducted, so that nothing counts twice.
    return this.context.onOutage === "open" ? [burst, 0, 0, 0, 0] : [spent, unspent, perMs, aloneMs, agoMs];
  }

  /**
   * Resolves at the end of the first period of an outage; undefined after it, or if a wait is unnecessary or useless.
   */
  #firstMoment(): Promise<void> | undefined {
    const { outage, onOutage } = this.context;
    const { since = Number.NEGATIVE_INFINITY, until } = outage() ?? {};
    const restMs =
      (until === undefined ? since : Number.NEGATIVE_INFINITY) + FIRST_MOMENT_MS - performance.now();
    const waitMs = this.#waitAlone();
    // A token that is there already may be spent by each of the calls that wait.
    const isEnough = onOutage === "open" && waitMs === 0;
    if (onOutage === "closed" || isEnough || restMs <= 0 || waitMs > restMs) return undefined;
    return new Promise((resolve) => setTimeout(resolve, restMs));
  }

  /** Remaining calls of a quota do not carry over to the next window. */
  #dropEnded(): void {
    if (performance.now() < this.#until) return;
    this.#left = 0;
    this.#until = Number.POSITIVE_INFINITY;
  }

  #waitAlone(): number {
    if (this.context.onOutage === "closed") return CLOSED_MS;
    const { share, tokens } = this.#filledShare();
    const windowMs = this.#untilWindowEnds(share);
    if (windowMs > 0) return windowMs;
    return tokens >= 1 ? 0 : Math.max(1, (1 - tokens) / this.#shareSettings.perMs);
  }

  /** Ms until the known window of a quota ends, if this replica has spent its part of what the window had left. */
  #untilWindowEnds({ spent }: OwnShare): number {
    const { settings, context } = this;
    const leftMs = this.#until - performance.now();
    if (settings.kind !== "quota" || context.onOutage !== "share" || !Number.isFinite(leftMs)) return 0;
    const rest = Math.max(0, settings.count - Number(this.#seen?.count ?? 0));
    return spent + 1 > rest * context.share() ? Math.max(1, leftMs) : 0;
  }

  /** This replica's share, initially empty so that the sum never exceeds the limit, and its tokens. */
  #filledShare(): { readonly share: OwnShare; readonly tokens: number } {
    const settings = this.#shareSettings;
    const since = this.#aloneSince;
    this.#own ??= new OwnShare(this.context.onOutage === "open" ? settings.capacity : 0, since);
    return { share: this.#own, tokens: this.#own.fill(settings, since, performance.now()) };
  }

  /** Since when this replica counts by itself. */
  get #aloneSince(): number {
    const { since, until } = this.context.outage() ?? {};
    const isAway = since !== undefined && (until === undefined || this.#refusedSince === undefined);
    return isAway ? since : (this.#refusedSince ?? performance.now());
  }

  get #shareSettings(): ShareSettings {
    const { settings } = this;
    const part = this.context.onOutage === "open" ? 1 : this.context.share();
    return settings.kind === "rate"
      ? { capacity: Math.max(1, settings.capacity * part), perMs: settings.perMs * part }
      : { capacity: Math.max(1, settings.count * part), perMs: (settings.count / settings.windowMs) * part };
  }
}
