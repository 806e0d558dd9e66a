/** Which connection of its own does a call get whose principal may be asked questions? One that no other call is on. */
import type { ServerConfig } from "../../config/config.js";
import type { Call, Reply } from "../../core/call.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import { isBusy, type Lease, type Leases } from "./lease.js";

/** How many connections that belong to no session one principal may have. */
export const MAX_PER_PRINCIPAL = { stdio: 8, http: 32, openapi: 32 } as const;
/** How many connections of its sessions one principal may have: a quarter of the default maximum of a server. */
export const MAX_SESSIONS_PER_PRINCIPAL = { stdio: 25, http: 250, openapi: 250 } as const;
/** How long (ms) an unused one is kept before another kind of client of the same principal may replace it. */
export const EVICT_AFTER_MS = { stdio: 10_000, http: 0, openapi: 0 } as const;
/** Idle timeout (ms) of the connections beyond the first. */
const SPARE_IDLE_TIMEOUT_MS = 60_000;
/** How long (ms) a call waits for a free connection; then it shares one, and questions may reach another client. */
const WAIT_MS = 10_000;
/** Calls that are cancelled or never answered end without an event; the slots are checked again at this interval (ms). */
const POLL_MS = 250;

/** Several clients of one principal may share a lease, and on a pipe a question does not name its client. */
export class ExclusiveConnections {
  readonly #leases: Leases;
  readonly #max: number;
  /** Slots, by lease key, that a call holds. */
  readonly #taken = new Set<string>();
  readonly #released = new ConditionVariable();

  constructor(leases: Leases, kind: ServerConfig["transport"]["kind"]) {
    this.#leases = leases;
    this.#max = MAX_PER_PRINCIPAL[kind];
  }

  /** Runs `call` over `lease`, or over a spare one with the same key, that no other call is on. */
  async run(
    lease: Lease,
    { client, signal }: Pick<Call, "client" | "signal">,
    call: (lease: Lease) => Promise<Reply>,
  ): Promise<Reply> {
    const { listScope, advertised, session, principal, credentials, opensSession } = lease;
    const { key } = listScope;
    const slots = Array.from({ length: this.#max }, (_, index) =>
      index === 0 ? key : `${key} #${index + 1}`,
    );
    const free = await this.#acquire(slots, (slot) => this.#isFree(slot, { principal, session }), signal);
    const slot = free ?? key;
    try {
      const spare = slot !== key;
      const leaseKey = { listScope, advertised, session, principal, credentials, opensSession, spare };
      const acquired = this.#leases.acquire(slot, leaseKey, spare ? () => SPARE_IDLE_TIMEOUT_MS : undefined);
      // A host keeps its first connection open, not those that it needed for calls side by side.
      if (spare) acquired.use.touch();
      else acquired.use.add(client);
      return await call(acquired);
    } finally {
      if (free !== undefined) {
        this.#taken.delete(free);
        this.wake();
      }
    }
  }

  /** Checks the slots again: a parked call may have ended and freed its connection. */
  wake(): void {
    this.#released.notifyAll();
  }

  /** Takes the first free slot; undefined when none becomes free within WAIT_MS or `signal` aborts. */
  async #acquire(
    slots: readonly string[],
    isFree: (slot: string) => boolean,
    signal: StopSignal,
  ): Promise<string | undefined> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const free = slots.find((slot) => !this.#taken.has(slot) && isFree(slot));
      if (free !== undefined) this.#taken.add(free);
      if (free !== undefined || signal.aborted || performance.now() >= until) return free;
      await this.#released.wait(POLL_MS, signal);
    }
  }

  #isFree(slot: string, owner: Pick<Lease, "principal" | "session">): boolean {
    const lease = this.#leases.get(slot);
    return lease === undefined ? this.#leases.hasCapacity(owner) : !isBusy(lease.supervisor);
  }
}
