/** Calls that wait, in this process, for an answer to something their server asked. */
import { randomBytes } from "node:crypto";
import type { Call, InputResponses, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { fitsFairShare, isIdentified } from "../../core/fair-share.js";
import { targetOf } from "../../core/methods.js";
import { canonicalDigest } from "../../runtime/canonical-digest.js";

export interface ParkingLimits {
  /** Calls that may be parked at once: in all (0: none at all), for one principal, and at one server. */
  readonly total: number;
  readonly perPrincipal: number;
  readonly perServer: number;
  /** How long (ms) a call waits for its answers; then it is given up, and its server is told. */
  readonly answerMs: number;
}

/** A little longer than a legacy host may take to answer, which tells its server more exactly what happened. */
const DEFAULT_LIMITS: ParkingLimits = {
  total: 2_000,
  perPrincipal: 500,
  perServer: 500,
  answerMs: 15 * 60_000,
};

/** A call that can go on where it stopped. */
export interface ParkableCall {
  /** Whose call it is, at which server, with what; only the same may go on with it. */
  readonly identity: string;
  readonly principal: string;
  readonly server: string;
  /** The request that made it stays open meanwhile, as that of a session does: its session bounds it, not we. */
  readonly isOpen: boolean;
  /** Goes on with the answers of `call`. */
  readonly resume: (call: Call, answers: InputResponses) => Promise<Reply>;
  /** Nobody came in time, or it has made room for a later one. */
  readonly expire: (why: string) => void;
}

interface ParkedCall extends ParkableCall {
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Tokens that are over, the youngest, so that one that comes again can be told from one that never was. */
const MAX_REMEMBERED = 1_000;

export class ParkedCalls {
  #limits: ParkingLimits;
  readonly #parked = new Map<string, ParkedCall>();
  /** What became of tokens that are over. */
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

  /** False where the config wants no call to wait for a client that must come back. */
  get isAllowed(): boolean {
    return this.#limits.total > 0;
  }

  /** For the calls that are parked from now on. */
  limit(limits: ParkingLimits): void {
    this.#limits = limits;
  }

  /**
   * The token under which the call goes on, once; undefined when there is no room. Where the principal has its share of
   * the places, its own oldest makes room; nobody else's does.
   */
  park(call: ParkableCall): string | undefined {
    if (!this.#hasCapacity(call) && !this.#evictOldest(call)) return undefined;
    const token = randomBytes(18).toString("base64url");
    const timer = setTimeout(() => {
      this.#remove(token, "has expired");
      call.expire("nobody answered in time");
    }, this.#limits.answerMs);
    timer.unref();
    this.#parked.set(token, { ...call, timer });
    return token;
  }

  /**
   * Takes the call out: a token is good for one round.
   *
   * @throws GatewayError `state_rejected` for somebody else's token or one that is over; `outcome_unknown` when
   * nothing is known of it (any more): then the call must not be made again as if it had never been.
   */
  take(token: string, owner: string, server: string): ParkableCall {
    const parked = this.#parked.get(token);
    if (parked === undefined) {
      const reason = this.#spent.get(token);
      if (reason !== undefined) throw rejected(server, reason);
      const sentence = `${server} was working on this call, and the gateway has lost sight of it; what came of it is not known`;
      throw new GatewayError("outcome_unknown", "gateway", sentence, { server });
    }
    if (parked.identity !== owner) throw rejected(server, "belongs to another call");
    this.remove(token);
    return parked;
  }

  /** The call is not parked any more. */
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

  /** Gives up the principal's oldest; false where it has none whose place would do. */
  #evictOldest(call: ParkableCall): boolean {
    // Where nobody says who they are it may be anybody's.
    if (!isIdentified({ id: call.principal })) return false;
    const there = this.#hasServerCapacity(call) ? undefined : call.server;
    const oldest = [...this.#parked].find(
      ([, { isOpen, principal, server }]) =>
        !isOpen && principal === call.principal && (there === undefined || server === there),
    );
    if (oldest === undefined) return false;
    const [token, parked] = oldest;
    this.#remove(token, "has made room for a later call");
    parked.expire("it has made room for a later call that waits for an answer");
    return this.#hasCapacity(call);
  }
}

/** How many of `parked` count as the principal's own; see `fitsFairShare`. */
const countOwn = (parked: readonly ParkedCall[], principal: string): number =>
  isIdentified({ id: principal }) ? parked.filter((one) => one.principal === principal).length : 0;

/**
 * Whose call it is: principal, server, method, target and arguments; metadata may differ from round to round. A promise
 * only where the arguments are large.
 */
export function callIdentity(call: Call, server: string): string | Promise<string> {
  const { method, params, client } = call;
  const target = targetOf(method, params)?.name ?? null;
  return canonicalDigest([client.principal.id, server, method, target, params.arguments ?? null]);
}

const rejected = (server: string, why: string): GatewayError =>
  new GatewayError("state_rejected", "downstream", `the requestState ${why}`, { server });
