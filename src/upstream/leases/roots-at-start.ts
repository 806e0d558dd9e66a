/** When may the first call go over a new connection to a server that asks for roots? Once it has asked, or had the time to. */
import type { Call } from "../../core/call.js";
import { awaitWithin, type StopSignal } from "../../core/stop.js";
import type { Connection } from "../connection.js";
import type { Lease } from "./lease.js";
import { RootsRequests } from "./roots-requests.js";

/** How long (ms) a server is waited for that does not answer a ping. */
const PING_MS = 5_000;
/** How long (ms) after the handshake a server of which nothing is known may take to ask. */
const FIRST_ASK_MS = 50;

/** What the connections to one server wait for before their first call. */
export class RootsAtStart {
  readonly requests = new RootsRequests();
  readonly #isPipe: boolean;

  /** `isPipe`: the server answers in order. */
  constructor(isPipe: boolean) {
    this.#isPipe = isPipe;
  }

  /** Whether `call` over `lease` needs the roots of its host: it is kept for several, and the server asks for roots in such calls. */
  separate({ session, opensSession, advertised }: Lease, call: Pick<Call, "method" | "params">): boolean {
    const mayBeAsked = session === undefined && opensSession && Object.hasOwn(advertised, "roots");
    return mayBeAsked && this.requests.areNeededIn(call);
  }

  /**
   * Resolves when a server that asks for roots after the handshake has done so: it knows those that the connection of `lease`
   * is kept for, or has got a refusal. What it asks from then on belongs to a call.
   */
  async areAskedFor({ advertised }: Lease, connection: Connection, signal: StopSignal): Promise<void> {
    if (!Object.hasOwn(advertised, "roots")) return;
    await this.#afterRequestsOfStart(connection, signal);
    const { possibleStartMs } = this.requests;
    if (possibleStartMs === undefined) return;
    const isTold = await connection.whenRootsTold?.(possibleStartMs, signal);
    if (isTold === false && !signal.aborted) this.requests.missedStart();
  }

  /** The same over the connection of one session, whose host the server asks by itself. */
  async areAskedOfSession(connection: Connection, signal: StopSignal): Promise<void> {
    await this.#afterRequestsOfStart(connection, signal);
    const { startMs } = this.requests;
    // A host that does not answer says nothing of the server.
    if (startMs !== undefined) await connection.whenRootsTold?.(startMs, signal);
  }

  /**
   * Before the first call over a pipe: whether the server asks for roots as soon as the handshake is over. It has asked before
   * it answers a ping, or before a second one when it does something else first; over HTTP there is no order.
   */
  async #afterRequestsOfStart(connection: Connection, signal: StopSignal): Promise<void> {
    const isUsed =
      connection.lastCallEndedAt !== Number.NEGATIVE_INFINITY || connection.idleSince === undefined;
    if (isUsed || !this.#isPipe) return;
    await awaitWithin(PING_MS, connection.checkHealth(signal), signal);
    if (!this.requests.areUnknown) return;
    await connection.whenRootsTold?.(FIRST_ASK_MS, signal);
    await awaitWithin(PING_MS, connection.checkHealth(signal), signal);
    if (this.requests.areUnknown && !signal.aborted) this.requests.missedStart();
  }
}
