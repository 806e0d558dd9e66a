/** Gives each call about which one principal may be asked a connection to itself, as long as there are connections. */
import type { ServerConfig } from "../../config/config.js";
import type { Reply } from "../../core/call.js";
import type { StopSignal } from "../../core/stop.js";
import { ConnectionSlots } from "./connection-slots.js";
import { isBusy, type Lease, type Leases } from "./lease.js";

/** How many connections that belong to no session one principal may have. */
export const MAX_PER_PRINCIPAL = { stdio: 8, http: 32 } as const;
/** How long (ms) one of them is kept for its kind of client when others want it. */
export const EVICT_AFTER_MS = { stdio: 10_000, http: 0 } as const;
/** How long (ms) those beyond the first are kept without use. */
const SPARE_IDLE_TIMEOUT_MS = 60_000;

/** Several clients of one principal may share a lease, and a pipe does not tell whose a question is. */
export class ExclusiveConnections {
  readonly #leases: Leases;
  readonly #max: number;
  readonly #slots = new ConnectionSlots();

  constructor(leases: Leases, kind: ServerConfig["transport"]["kind"]) {
    this.#leases = leases;
    this.#max = MAX_PER_PRINCIPAL[kind];
  }

  /** Runs `call` over the lease, or over a spare one of the same tenants, that no other call is on. */
  async run(
    { listScope, advertised, session, principal }: Lease,
    signal: StopSignal,
    call: (lease: Lease) => Promise<Reply>,
  ): Promise<Reply> {
    const { key } = listScope;
    const slots = Array.from({ length: this.#max }, (_, index) =>
      index === 0 ? key : `${key} #${index + 1}`,
    );
    const { slot, release: releaseSlot } = await this.#slots.acquire(
      slots,
      (one) => this.#isFree(one, { principal, session }),
      signal,
    );
    try {
      const spare = slot !== key;
      const leaseKey = { listScope, advertised, session, principal, spare };
      return await call(this.#leases.acquire(slot, leaseKey, spare ? SPARE_IDLE_TIMEOUT_MS : undefined));
    } finally {
      releaseSlot();
    }
  }

  /** A call that had a connection to itself, and went on after it was answered, may be over. */
  wake(): void {
    this.#slots.wake();
  }

  #isFree(slot: string, owner: Pick<Lease, "principal" | "session">): boolean {
    const lease = this.#leases.get(slot);
    return lease === undefined ? this.#leases.hasCapacity(owner) : !isBusy(lease.supervisor);
  }
}
