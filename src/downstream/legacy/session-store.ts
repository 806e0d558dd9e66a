/** Which sessions are open, and when do they end (idle time, limit, shutdown)? */
import { LRUCache } from "lru-cache";
import type { Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { fitsFairShare, isIdentified } from "../../core/fair-share.js";
import { isSamePrincipal, principalKey } from "../../core/principal.js";
import { withTimeout } from "../../core/stop.js";
import { entryLimit } from "../../runtime/cache-limits.js";
import type { Session } from "./session.js";

/** Limits of the sessions of one edge. */
export interface SessionLimits {
  /**
   * Sessions that may be open at once, shared between principals. The least recently used one of the same principal
   * that is not busy makes room for another.
   */
  readonly max: number;
  /** The same for what is kept of their hosts' words, in characters. Default: 32 Mi. */
  readonly maxCharacters?: number;
  /** A session that is not busy ends this long after it was last used, in ms. */
  readonly idleMs: number;
}

/** A session that was opened and never used ends after this time (ms), so that abandoned ones cost little. */
const UNUSED_MS = 120_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;

interface PrincipalUsage {
  sessions: number;
  characters: number;
}

/** Why a session ended, as in the metric. */
export type SessionEnd = "deleted" | "idle" | "displaced" | "closed" | "moved";

/** The open sessions of one edge. */
export class SessionStore {
  /** Reading an entry makes it the most recently used one, so the idle ones gather at the other end. */
  readonly #sessions: LRUCache<string, Session>;
  readonly #sweep: NodeJS.Timeout;
  #closing = false;
  #characters = 0;
  /** By the ids of principals. */
  readonly #usage = new Map<string, PrincipalUsage>();

  constructor(
    private readonly limits: SessionLimits,
    private readonly onEnded: (session: Session, why: SessionEnd) => void,
    private readonly onAdded: (session: Session) => void = () => {},
  ) {
    this.#sessions = new LRUCache(entryLimit(limits.max));
    this.#sweep = setInterval(() => this.#sweepNow(), Math.min(limits.idleMs, 60_000) / 2);
    this.#sweep.unref();
  }

  /** All of them, the most recently used first. */
  all(): readonly Session[] {
    return [...this.#sessions.values()].filter((session) => session !== undefined);
  }

  /** @throws GatewayError `overloaded` when the principal has its share of all that may be open, and all of it is busy. */
  add(session: Session): void {
    if (this.#closing) throw new GatewayError("overloaded", "gateway", "the gateway is stopping");
    const { principal } = session.client;
    while (!this.#hasCapacity(session)) this.#evictFor(principal);
    this.#count(session, 1);
    this.#sessions.set(session.id, session);
    this.onAdded(session);
  }

  /** The session of that id, if it is this principal's and of this endpoint; else undefined, as if it did not exist. */
  find(id: string, principal: Principal, endpoint: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (
      session === undefined ||
      session.client.endpoint !== endpoint ||
      !isSamePrincipal(session.client.principal, principal)
    )
      return undefined;
    const { headers } = session.client.principal;
    // What its servers have for other values is not for these. A request without them continues with those of the session.
    if (principal.headers?.isWithin(headers) === false) return undefined;
    session.touch();
    session.updatePrincipal(
      headers === principal.headers ? principal : (headers?.attachTo(principal) ?? principal),
    );
    return session;
  }

  /** Whether sessions end because this process stops: another one may take them over. */
  get isClosing(): boolean {
    return this.#closing;
  }

  /** Whether there is a session of that id. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** The session whose client has that affinity. That is no use of it: a server that talks keeps no session open. */
  byAffinity(affinity: string): Session | undefined {
    return this.#sessions.peek(affinity);
  }

  end(session: Session, why: SessionEnd): void {
    if (!this.#sessions.delete(session.id)) return;
    this.#count(session, -1);
    session.end(why === "moved" ? "moved" : "ended");
    this.onEnded(session, why);
  }

  /**
   * Opens no more sessions, and ends those over HTTP: their GET streams at once, the rest when no request is in
   * flight, after `graceMs` at the latest. A pipe ends its own session. `move` gives a session to another replica; false
   * where there is none.
   */
  async close(graceMs: number, move: (id: string) => Promise<boolean> = async () => false): Promise<void> {
    this.#closing = true;
    clearInterval(this.#sweep);
    const sessions = this.all().filter(({ streams }) => streams !== undefined);
    for (const { streams } of sessions) streams?.endGetStreams();
    const leave = async (session: Session): Promise<void> => {
      await session.drained();
      if (!(await move(session.id))) return;
      // Of the requests that came meanwhile; later ones are forwarded.
      await session.drained();
      this.end(session, "moved");
    };
    await withTimeout(graceMs, Promise.all(sessions.map(leave)));
    for (const session of sessions) this.end(session, "closed");
  }

  #hasCapacity({ client: { principal }, retainedCharacters }: Session): boolean {
    const { max, maxCharacters = MAX_CHARACTERS } = this.limits;
    const shared = isIdentified(principal);
    const own = shared ? this.#usage.get(principalKey(principal)) : undefined;
    return (
      fitsFairShare(max, this.#sessions.size, own?.sessions ?? 0) &&
      fitsFairShare(maxCharacters, this.#characters + retainedCharacters, own?.characters ?? 0)
    );
  }

  #count({ client: { principal }, retainedCharacters }: Session, change: 1 | -1): void {
    this.#characters += change * retainedCharacters;
    const own = this.#usage.get(principalKey(principal)) ?? { sessions: 0, characters: 0 };
    own.sessions += change;
    own.characters += change * retainedCharacters;
    if (own.sessions > 0) this.#usage.set(principalKey(principal), own);
    else this.#usage.delete(principalKey(principal));
  }

  /** Ends the principal's own oldest that is not busy. */
  #evictFor(principal: Principal): void {
    const idle = this.all().findLast(
      (session) => isSamePrincipal(session.client.principal, principal) && !session.isBusy,
    );
    if (idle !== undefined) this.end(idle, "displaced");
    else
      throw new GatewayError("overloaded", "gateway", "too many sessions for this principal", {
        retryable: true,
      });
  }

  /** No time-to-live of the cache's own: a session whose stream is open may be silent for ever, and is not idle. */
  #sweepNow(): void {
    const now = performance.now();
    for (const session of this.all()) {
      session.streams?.sweep();
      const idleMs = session.wasUsed ? this.limits.idleMs : Math.min(this.limits.idleMs, UNUSED_MS);
      if (session.isBusy) session.touch();
      else if (session.usedAt <= now - idleMs) this.end(session, "idle");
    }
  }
}
