/** Who has used a connection, and until when does that keep it open? */
import type { Client, ClientDirectory } from "../../core/client.js";

/** How long (ms) a connection stays open that was only listed over, or whose last host has left: a call often follows. */
const LINGER_MS = 5_000;

/** What else decides about the end of a connection. */
export interface UseSettings {
  /** Finds the hosts with a session that are still there. */
  readonly hosts: ClientDirectory;
  /** How long (ms) it stays open after its last use, where no session keeps it. */
  readonly idleTimeoutMs: () => number;
}

/**
 * The uses of one connection by calls and subscriptions; a list is none. A host with a session keeps it open while it is
 * there: it has a stream or a call open. A session that its host has left without ending it counts from that moment on
 * as a use that is over, and so does each use of a host without a session.
 */
export class ConnectionUse {
  readonly #settings: UseSettings;
  /** The affinities of sessions that have used it and have not ended. */
  readonly #sessions = new Set<string>();
  /** The last use of a client without a session, and the last moment that a session used it, by `performance.now()`. */
  #usedAt: number | undefined;
  /** When the last session ended. */
  #releasedAt: number | undefined;

  constructor(settings: UseSettings) {
    this.#settings = settings;
  }

  /** A call or a subscription of `client` uses it. */
  add({ session, affinity }: Pick<Client, "session" | "affinity">): void {
    if (session) this.#sessions.add(affinity);
    else this.#usedAt = performance.now();
  }

  /** Whether a call or a subscription has used it since it was made. */
  get wasUsed(): boolean {
    return this.#usedAt !== undefined || this.#releasedAt !== undefined || this.#sessions.size > 0;
  }

  /** The connection has ended: the next one begins without uses. */
  reset(): void {
    this.#sessions.clear();
    this.#usedAt = undefined;
    this.#releasedAt = undefined;
  }

  /** A use that no session keeps open. */
  touch(): void {
    this.#usedAt = performance.now();
  }

  /** The session of that affinity has ended. */
  release(affinity: string): void {
    if (this.#sessions.delete(affinity)) this.#releasedAt = performance.now();
  }

  /**
   * When (`performance.now()`) nothing keeps it open any longer, where nothing has run on it since `idleSince` and the last
   * call has ended at `callEndedAt`; undefined while a host is there that used it.
   */
  endsAt(idleSince: number, callEndedAt: number): number | undefined {
    const { hosts, idleTimeoutMs } = this.#settings;
    const since = this.wasUsed ? Math.max(callEndedAt, this.#releasedAt ?? callEndedAt) : idleSince;
    let end = since + LINGER_MS;
    if (this.#usedAt !== undefined)
      end = Math.max(end, Math.max(this.#usedAt, callEndedAt) + idleTimeoutMs());
    for (const affinity of this.#sessions) {
      const host = hosts.find(affinity);
      if (host === undefined) continue;
      if (host.idleSince === undefined) return undefined;
      end = Math.max(end, host.idleSince + idleTimeoutMs());
    }
    return end;
  }
}
