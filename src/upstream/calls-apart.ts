/** Gives each call about which one principal may be asked a connection to itself, as long as there are connections. */
import type { ServerConfig } from "../config/config.js";
import type { Reply } from "../core/call.js";
import type { StopSignal } from "../core/stop.js";
import { isBusy, type Lease, type Leases } from "./lease.js";
import { Turns } from "./turns.js";

/** How many connections that belong to no session one principal may have. */
export const MOST_OF_ONE = { stdio: 8, http: 32 } as const;
/** How long (ms) one of them is kept for its kind of client when others want it. */
export const SETTLED_MS = { stdio: 10_000, http: 0 } as const;
/** How long (ms) those beyond the first are kept without use. */
const SPARE_IDLE_MS = 60_000;

/** Several clients of one principal may share a lease, and a pipe does not tell whose a question is. */
export class CallsApart {
  readonly #leases: Leases;
  readonly #most: number;
  readonly #turns = new Turns();

  constructor(leases: Leases, kind: ServerConfig["transport"]["kind"]) {
    this.#leases = leases;
    this.#most = MOST_OF_ONE[kind];
  }

  /** Runs `call` over the lease, or over a spare one of the same tenants, that no other call is on. */
  async run(
    { audience, promised, session, principal }: Lease,
    signal: StopSignal,
    call: (lease: Lease) => Promise<Reply>,
  ): Promise<Reply> {
    const { key } = audience;
    const places = Array.from({ length: this.#most }, (_, index) =>
      index === 0 ? key : `${key} #${index + 1}`,
    );
    const { place, over } = await this.#turns.take(
      places,
      (one) => this.#isFree(one, { principal, session }),
      signal,
    );
    try {
      const spare = place !== key;
      const tenancy = { audience, promised, session, principal, spare };
      return await call(this.#leases.use(place, tenancy, spare ? SPARE_IDLE_MS : undefined));
    } finally {
      over();
    }
  }

  /** A call that had a connection to itself, and went on after it was answered, may be over. */
  wake(): void {
    this.#turns.wake();
  }

  #isFree(place: string, owner: Pick<Lease, "principal" | "session">): boolean {
    const lease = this.#leases.get(place);
    return lease === undefined ? this.#leases.hasRoom(owner) : !isBusy(lease.supervisor);
  }
}
