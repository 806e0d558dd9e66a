/** Which connection of its own does a call get whose principal may be asked questions? One that no other call is on. */
import type { ServerConfig } from "../../config/config.js";
import type { Call, Reply, RootsAnswer } from "../../core/call.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import { programOf } from "../legacy/remembered-host.js";
import { isBusy, type Lease, type Leases } from "./lease.js";
import { keyWithRoots, slotsOf } from "./lease-keys.js";

/** What limits depend on: a process costs more than connections over HTTP, as those of features are. */
type Way = "stdio" | "http";
export const wayOf = ({ transport }: Pick<ServerConfig, "transport">): Way =>
  transport.kind === "stdio" ? "stdio" : "http";

/** How many connections that belong to no session one principal may have. */
export const MAX_PER_PRINCIPAL = { stdio: 8, http: 32 } as const satisfies Record<Way, number>;
/** How many connections of its sessions one principal may have: a quarter of the default maximum of a server. */
export const MAX_SESSIONS_PER_PRINCIPAL = { stdio: 25, http: 250 } as const satisfies Record<Way, number>;
/** How long (ms) an unused one is kept before another kind of client of the same principal may replace it. */
export const EVICT_AFTER_MS = { stdio: 10_000, http: 0 } as const satisfies Record<Way, number>;
/** The same before one is replaced for a host with other roots: more windows than connections are a legitimate use. */
const EVICT_FOR_ROOTS_AFTER_MS = { stdio: 1_000, http: 0 } as const satisfies Record<Way, number>;
/** Idle timeout (ms) of the connections beyond the first. */
const SPARE_IDLE_TIMEOUT_MS = 60_000;
/** How long (ms) a call waits for a free connection; then it shares one, and questions may reach another client. */
const WAIT_MS = 10_000;
/** Calls that are cancelled or never answered end without an event; the slots are checked again at this interval (ms). */
const POLL_MS = 250;

/** A call, and what is known of the roots of its host. */
export interface ExclusiveCall extends Pick<Call, "client" | "signal"> {
  /** Undefined where they are not known: then the server must not know those of another host. */
  readonly roots: RootsAnswer | undefined;
}

/** The connections that a call may get, and whose program it is. */
interface Wanted {
  readonly slots: readonly string[];
  readonly program: string;
  readonly lease: Lease;
  readonly hasRoots: boolean;
}

/** Several clients of one principal may share a lease, and on a pipe a question does not name its client. */
export class ExclusiveConnections {
  readonly #leases: Leases;
  readonly #way: Way;
  /** Slots, by lease key, that a call holds. */
  readonly #taken = new Set<string>();
  readonly #released = new ConditionVariable();

  constructor(leases: Leases, way: Way) {
    this.#leases = leases;
    this.#way = way;
  }

  /**
   * Runs `call` over `lease`, or over another one for the same clients, that no other call is on. Where the server knows
   * the roots of a host, or has answers of a program, it gets calls of such hosts only.
   */
  async run(
    lease: Lease,
    { client, signal, roots }: ExclusiveCall,
    call: (lease: Lease) => Promise<Reply>,
  ): Promise<Reply> {
    const { listScope, advertised, session, principal, credentials, headers, opensSession } = lease;
    const { key } = listScope;
    const program = programOf(client.info);
    const first = roots === undefined ? key : keyWithRoots(key, program, roots);
    const slots = slotsOf(first, MAX_PER_PRINCIPAL[this.#way]);
    const free = await this.#acquire({ slots, program, lease, hasRoots: roots !== undefined }, signal);
    const slot = free ?? first;
    try {
      const isFirst = slot === first;
      const spare = slot !== key;
      const own = { listScope, advertised, session, principal, credentials, headers, opensSession };
      const leaseKey = { ...own, spare, roots };
      const acquired = this.#leases.acquire(
        slot,
        leaseKey,
        isFirst ? undefined : () => SPARE_IDLE_TIMEOUT_MS,
      );
      // A host keeps its first connection open, not those that it needed for calls side by side.
      if (isFirst) acquired.use.add(client);
      else acquired.use.touch();
      return await call(acquired);
    } finally {
      if (free !== undefined) {
        this.#taken.delete(free);
        this.wake();
      }
    }
  }

  /** Whether a call holds the slot of that key. */
  isTaken(key: string): boolean {
    return this.#taken.has(key);
  }

  /** Checks the slots again: a parked call may have ended and freed its connection. */
  wake(): void {
    this.#released.notifyAll();
  }

  /** Takes a free slot; undefined when none becomes free within WAIT_MS or `signal` aborts. */
  async #acquire(wanted: Wanted, signal: StopSignal): Promise<string | undefined> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const free = this.#findFree(wanted);
      if (free !== undefined) this.#taken.add(free);
      if (free !== undefined || signal.aborted || performance.now() >= until) return free;
      await this.#released.wait(POLL_MS, signal);
    }
  }

  /** The first one that is new, or serves such hosts; where there can be no new one, any on which nothing runs. */
  #findFree({ slots, program, lease, hasRoots }: Wanted): string | undefined {
    const open = slots.filter((slot) => !this.#taken.has(slot));
    const isNew = (slot: string): boolean => this.#leases.get(slot) === undefined;
    const canBeNew = this.#leases.hasCapacity(lease, hasRoots);
    const free = open.find((slot) => (isNew(slot) ? canBeNew : this.#isFree(slot, program)));
    if (free !== undefined) return free;
    const replacing = hasRoots ? open.find(isNew) : undefined;
    if (replacing !== undefined && this.#leases.endIdle(lease, EVICT_FOR_ROOTS_AFTER_MS[this.#way]))
      return replacing;
    return open.find((slot) => this.#isFree(slot, undefined));
  }

  /** Whether nothing runs on the connection of `slot`, and its server has answers of no other program. */
  #isFree(slot: string, program: string | undefined): boolean {
    const lease = this.#leases.get(slot);
    if (lease === undefined || isBusy(lease.supervisor)) return false;
    const { program: remembered } = lease.remembered;
    return program === undefined || remembered === undefined || remembered === program;
  }
}
