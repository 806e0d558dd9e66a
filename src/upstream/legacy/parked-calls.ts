/** Which calls wait in this process for answers to questions of their server, and how are they resumed? */
import { randomBytes } from "node:crypto";
import type { Call, InputResponses, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { fitsFairShare, isIdentified } from "../../core/fair-share.js";
import { targetOf } from "../../core/methods.js";
import { callIdentity } from "../../runtime/canonical-digest.js";

/** The limits of parked calls. */
export interface ParkingLimits {
  /** The maximum numbers of parked calls: in all (0: parking is off), for one principal, and at one server. */
  readonly total: number;
  readonly perPrincipal: number;
  readonly perServer: number;
  /** How long (ms) a call waits for its answers before it is cancelled. */
  readonly answerMs: number;
}

/** A little longer than the timeout of a legacy host, whose own error tells the server more. */
const DEFAULT_LIMITS: ParkingLimits = {
  total: 2_000,
  perPrincipal: 500,
  perServer: 500,
  answerMs: 15 * 60_000,
};

/** A call that can be resumed. */
export interface ParkableCall {
  /** Its `parkedIdentity`: only the same call may resume it. */
  readonly identity: string;
  readonly principal: string;
  readonly server: string;
  /** True where the request of the client stays open meanwhile, as in a session: the limits of the session hold then. */
  readonly isOpen: boolean;
  /** Continues with the answers of `call`. */
  readonly resume: (call: Call, answers: InputResponses) => Promise<Reply>;
  /** Called when no answer came in time, or the call was evicted for a later one. */
  readonly expire: (why: string) => void;
}

interface ParkedCall extends ParkableCall {
  readonly timer: ReturnType<typeof setTimeout>;
}

/** The maximum number of spent tokens that are remembered, to distinguish a reused token from an unknown one. */
const MAX_REMEMBERED = 1_000;

/** All parked calls of this process. */
export class ParkedCalls {
  #limits: ParkingLimits;
  readonly #parked = new Map<string, ParkedCall>();
  /** Why a token is no longer valid, by token. */
  readonly #spent = new Map<string, string>();

  constructor(limits: ParkingLimits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** How long (ms) a call that is parked now waits for its answers. */
  get answerMs(): number {
    return this.#limits.answerMs;
  }

  /** False where the config turns parking off. */
  get isAllowed(): boolean {
    return this.#limits.total > 0;
  }

  /** Sets the limits for calls that are parked from now on. */
  limit(limits: ParkingLimits): void {
    this.#limits = limits;
  }

  /**
   * Parks a call and returns the token to resume it with, once; undefined when the limit is reached. A principal that
   * has its fair share already loses its own oldest call; a call of another principal is never evicted.
   */
  park(call: ParkableCall): string | undefined {
    if (!this.#hasCapacity(call) && !this.#evictOldest(call)) return undefined;
    const token = randomBytes(18).toString("base64url");
    const timer = setTimeout(() => {
      this.#remove(token, "has expired");
      call.expire("no answer in time");
    }, this.#limits.answerMs);
    timer.unref();
    this.#parked.set(token, { ...call, timer });
    return token;
  }

  /**
   * Removes and returns the call: a token is valid once.
   *
   * @throws GatewayError `state_rejected` for the token of another call or a spent one; `outcome_unknown` for an unknown
   * one: the call may have been executed, so it must not be made again.
   */
  take(token: string, owner: string, server: string): ParkableCall {
    const parked = this.#parked.get(token);
    if (parked === undefined) {
      const reason = this.#spent.get(token);
      if (reason !== undefined) throw rejected(server, reason);
      const sentence = `${server} was running this call when the gateway lost it; the outcome is unknown`;
      throw new GatewayError("outcome_unknown", "gateway", sentence, { server });
    }
    if (parked.identity !== owner) throw rejected(server, "belongs to another call");
    this.remove(token);
    return parked;
  }

  /** Removes the call; its token is spent. */
  remove(token: string): void {
    this.#remove(token, "was used already");
  }

  #remove(token: string, reason: string): void {
    const parked = this.#parked.get(token);
    if (parked === undefined) return;
    clearTimeout(parked.timer);
    this.#parked.delete(token);
    this.#spent.set(token, reason);
    const [oldest] = this.#spent.keys();
    if (this.#spent.size > MAX_REMEMBERED && oldest !== undefined) this.#spent.delete(oldest);
  }

  #hasCapacity(call: ParkableCall): boolean {
    return call.isOpen || (this.#hasServerCapacity(call) && this.#hasTotalCapacity(call));
  }

  #hasServerCapacity({ principal, server }: ParkableCall): boolean {
    const there = this.#waiting().filter((parked) => parked.server === server);
    return fitsFairShare(this.#limits.perServer, there.length, countOwn(there, principal));
  }

  #hasTotalCapacity({ principal }: ParkableCall): boolean {
    const { total, perPrincipal } = this.#limits;
    const all = this.#waiting();
    const own = all.filter((parked) => parked.principal === principal).length;
    return own < perPrincipal && fitsFairShare(total, all.length, countOwn(all, principal));
  }

  #waiting(): readonly ParkedCall[] {
    return [...this.#parked.values()].filter(({ isOpen }) => !isOpen);
  }

  /** Cancels the oldest call of the principal; false where that does not bring the numbers below the limits. */
  #evictOldest(call: ParkableCall): boolean {
    // The calls of anonymous principals may belong to different clients.
    if (!isIdentified({ id: call.principal })) return false;
    const there = this.#hasServerCapacity(call) ? undefined : call.server;
    const oldest = [...this.#parked].find(
      ([, { isOpen, principal, server }]) =>
        !isOpen && principal === call.principal && (there === undefined || server === there),
    );
    if (oldest === undefined) return false;
    const [token, parked] = oldest;
    this.#remove(token, "was evicted for a later call");
    parked.expire("evicted for a later call that waits for an answer");
    return this.#hasCapacity(call);
  }
}

/** The number of `parked` calls that count for the principal; see `fitsFairShare`. */
const countOwn = (parked: readonly ParkedCall[], principal: string): number =>
  isIdentified({ id: principal }) ? parked.filter((one) => one.principal === principal).length : 0;

/** By what a parked call is resumed: the same call, with the same headers of its host. */
export function parkedIdentity(call: Call, server: string): string | Promise<string> {
  const { method, params, client } = call;
  const identity = callIdentity(call, server, targetOf(method, params)?.name, params.arguments);
  const { headers } = client.principal;
  if (headers === undefined) return identity;
  const withHeaders = (text: string): string => `${text} ${headers.digest}`;
  return typeof identity === "string" ? withHeaders(identity) : identity.then(withHeaders);
}

const rejected = (server: string, why: string): GatewayError =>
  new GatewayError("state_rejected", "downstream", `the requestState ${why}`, { server });
