/** Which limits apply to a call, and what does it spend of them? A call that resumes a paid round spends nothing. */

import { type Call, type Handler, isResumed, type Middleware, type Route } from "../../../core/call.js";
import { GatewayError, reachedNoServer } from "../../../core/errors.js";
import { TASK_METHODS } from "../../../core/methods.js";
import type { SharedLimits } from "../../../core/replicas.js";
import { StoreUnavailable } from "../../../core/shared-store.js";
import type { InteractionKind, LimitConfig } from "../config.js";
import type { PolicyMetrics } from "../metrics.js";
import { restrictsAnyReading } from "../rules/rule.js";
import { type CallBudget, Limit } from "./limit.js";

/** All limits of the config; a call spends from each that matches. */
export class Limits {
  readonly #limits: readonly Limit[];
  /** Whether any of them sets a timeout. */
  readonly hasTimeouts: boolean;
  readonly #metrics: PolicyMetrics;
  readonly #isShared: boolean;
  /** Routes live as long as the list they stand in. */
  readonly #byRoute = new Map<InteractionKind, WeakMap<Route, readonly AppliedLimit[]>>();

  /** An unchanged limit keeps its state over a reload: a reload refills no bucket. */
  constructor(
    configs: readonly LimitConfig[],
    metrics: PolicyMetrics,
    before?: Limits,
    shared?: SharedLimits,
    purpose?: string,
  ) {
    // Each once: two equal limits stay two.
    const held = new Set(before === undefined ? [] : before.#limits);
    this.#limits = configs.map((config) => {
      for (const limit of held) if (limit.takeOver(config) && held.delete(limit)) return limit;
      return new Limit(config, shared, purpose);
    });
    this.hasTimeouts = configs.some(({ timeoutMs }) => timeoutMs !== undefined);
    this.#metrics = metrics;
    this.#isShared = shared !== undefined;
  }

  /** In the order of the config. */
  get all(): readonly Limit[] {
    return this.#limits;
  }

  /** Belongs below `access`: what is refused there costs nothing here. */
  get middleware(): Middleware {
    return (next: Handler): Handler => {
      if (this.#limits.length === 0) return next;
      const charge = this.#charge.bind(this);
      return async function limits(call) {
        // Polling a task is free; the call that created it was charged.
        const free = call.route === undefined || TASK_METHODS.has(call.method);
        return free ? next(call) : charge(call, call.route, next);
      };
    };
  }

  /** The shortest timeout that a limit sets for this call; undefined where none does. */
  timeoutMs(call: Call): number | undefined {
    const { route } = call;
    // It waits until its task is done, however long that takes.
    if (route === undefined || call.method === "tasks/result") return undefined;
    const times = this.applicable("call", call, route).flatMap(({ limit }) => limit.config.timeoutMs ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /**
   * Spends one question of a server, which one of `routes` has caused: each limit that is about any of them
   * is charged once. Returns the name of the first limit that is exhausted; then none is charged.
   */
  spendQuestion(kind: InteractionKind, call: Call, routes: readonly Route[]): string | undefined {
    const paying = new Map<Limit, Route>();
    for (const route of routes) {
      for (const applied of this.applicable(kind, call, route)) {
        if (!paying.has(applied.limit)) paying.set(applied.limit, applied.route);
      }
    }
    for (const limit of paying.keys()) limit.hits.add();
    for (const [limit, route] of paying) {
      if (limit.waitMs(call, route) === 0) continue;
      this.#metrics.rateLimited(route.upstream, limit.config.name);
      return limit.config.name;
    }
    for (const [limit, route] of paying) for (const budget of limit.budgets(call, route)) budget.spend();
    return undefined;
  }

  /** The limits that apply to a call, in the order of the config. */
  applicable(kind: InteractionKind, call: Call, route: Route): readonly AppliedLimit[] {
    if (this.#limits.length === 0) return NO_LIMITS;
    const limits = this.#limitsForRoute(kind, route);
    const { principal } = call.client;
    // Nearly always all of them are, and then nothing is copied.
    return limits.every(({ limit }) => limit.matcher.matchesPrincipal(principal))
      ? limits
      : limits.filter(({ limit }) => limit.matcher.matchesPrincipal(principal));
  }

  async #charge(call: Call, route: Route, next: Handler) {
    const limits = this.applicable("call", call, route);
    if (limits.length === 0) return next(call);
    const paid = isResumed(call);
    if (!paid) for (const { limit } of limits) limit.hits.add();
    if (!paid && this.#isShared) await prepare(limits, call);
    const spent = paid ? [] : this.#spend(limits, call);
    const releases: (() => void)[] = [];
    try {
      for (const { limit, route: on } of limits) {
        const entry = limit.semaphore(call, on);
        if (entry === undefined) continue;
        const entered = entry.semaphore.acquire(call.signal, paid);
        if (entered === "full") throw queueFull(limit.config, route, entry.semaphore.queued);
        if (entered !== "inside") {
          const noMore = this.#metrics.enterQueue(serverLabel(route));
          const start = performance.now();
          await entered.catch(cancelledInQueue).finally(() => {
            noMore();
            if (call.record !== undefined) call.record.queueMs += performance.now() - start;
          });
        }
        releases.push(entry.release);
        const places = limit.sharedPlaces(call, on);
        if (places === undefined) continue;
        const start = performance.now();
        const most = (limit.config.concurrency ?? 1) * (paid ? 2 : 1);
        releases.push(
          await places.take(most, call.signal).catch((cause: unknown) => {
            if (cause instanceof StoreUnavailable) throw cannotCount(limit.config, route);
            return cancelledInQueue(cause);
          }),
        );
        if (call.record !== undefined) call.record.queueMs += performance.now() - start;
      }
      return await next(call);
    } catch (error) {
      if (reachedNoServer(error)) for (const giveBack of spent) giveBack();
      throw error;
    } finally {
      for (const leave of releases) leave();
    }
  }

  /** Spends one call of each budget, or of none. Returns the refunds. */
  #spend(limits: readonly AppliedLimit[], call: Call): readonly (() => void)[] {
    const budgets: CallBudget[] = [];
    let longest = 0;
    let refusing: AppliedLimit | undefined;
    for (const applied of limits) {
      const { limit, route } = applied;
      for (const budget of limit.budgets(call, route)) {
        budgets.push(budget);
        const { waitMs } = budget;
        if (budget.isClosed === true) throw cannotCount(limit.config, route);
        if (waitMs <= longest) continue;
        longest = waitMs;
        refusing = applied;
      }
    }
    if (refusing !== undefined) {
      const { limit, route } = refusing;
      this.#metrics.rateLimited(serverLabel(route), limit.config.name);
      throw rateLimited(limit.config, route, longest);
    }
    return budgets.map((budget) => budget.spend());
  }

  #limitsForRoute(kind: InteractionKind, route: Route): readonly AppliedLimit[] {
    let known = this.#byRoute.get(kind);
    if (known === undefined) {
      known = new WeakMap();
      this.#byRoute.set(kind, known);
    }
    let limits = known.get(route);
    if (limits === undefined) {
      limits = this.#limits.flatMap((limit): readonly AppliedLimit[] => {
        if (limit.config.on !== kind) return NO_LIMITS;
        // A call that names several things pays a limit that is about any of them once.
        const about = restrictsAnyReading(limit.matcher, route)
          ? route
          : route.namedTargets?.find((one) => restrictsAnyReading(limit.matcher, one.route))?.route;
        return about === undefined ? NO_LIMITS : [{ limit, route: about }];
      });
      known.set(route, limits);
    }
    return limits;
  }
}

/** How often leases are requested: another call may take what was leased for this one. */
const MAX_PREPARATIONS = 3;

/** Leases what the call pays with, where replicas count together and nothing is left here. */
async function prepare(limits: readonly AppliedLimit[], call: Call): Promise<void> {
  for (let attempt = 0; attempt < MAX_PREPARATIONS; attempt += 1) {
    const leases = limits.flatMap(({ limit, route }) =>
      limit.budgets(call, route).flatMap((budget) => budget.prepare?.() ?? []),
    );
    if (leases.length === 0) return;
    await Promise.all(leases);
  }
}

/** A limit, and what of a call it is about. */
interface AppliedLimit {
  readonly limit: Limit;
  readonly route: Route;
}

/** As in the metrics of calls: the gateway's own tools have no server. */
const serverLabel = ({ upstream }: Route): string => (upstream === "" ? "none" : upstream);

const NO_LIMITS: readonly AppliedLimit[] = [];

function rateLimited({ name, rate, quota, per }: LimitConfig, route: Route, waitMs: number): GatewayError {
  const bounds = [rate, quota].flatMap((bound) =>
    bound === undefined ? [] : `${bound.count} in ${bound.windowMs / 1000} s`,
  );
  const allowed = bounds.length === 0 ? "" : `: ${bounds.join(", ")}`;
  const whose = per === "all" ? "" : ` per ${per}`;
  return new GatewayError(
    "rate_limited",
    "downstream",
    `"${route.exposed}" was called too often (limit "${name}"${allowed}${whose})`,
    { rule: name, server: route.upstream, retryable: true, retryAfterMs: waitMs },
  );
}

const cannotCount = ({ name }: LimitConfig, route: Route): GatewayError =>
  new GatewayError(
    "overloaded",
    "gateway",
    `"${route.exposed}" cannot be called now: the store in which replicas count its limit "${name}" is away`,
    { rule: name, server: route.upstream, retryable: true, retryAfterMs: 1000 },
  );

const queueFull = ({ name, concurrency }: LimitConfig, route: Route, waiting: number): GatewayError =>
  new GatewayError(
    "queue_full",
    "gateway",
    `"${route.exposed}" is busy (limit "${name}": ${concurrency} at a time, and ${waiting} are waiting)`,
    { rule: name, server: route.upstream, retryable: true, retryAfterMs: 1000 },
  );

function cancelledInQueue(cause: unknown): never {
  throw new GatewayError("cancelled", "downstream", "the client cancelled this call while it waited", {
    cause,
  });
}
