/** Which era does a server belong to, as far as earlier connections show, and for how long is that valid? */
import { LEGACY_REVISIONS, MODERN_REVISION } from "../../wire/names.js";

/** A legacy server may be replaced by a modern one; after this time (ms) it is probed again. */
const TTL_MS = 60 * 60_000;
/** How long (ms) an `initialize` that failed without a reason counts as not supported; doubled with each failure. */
const FAILURE_TTL_MS = 60_000;

/** How a channel to a server can be opened. */
export type TransportKind = "stdio" | "http" | "sse";

/** What an era cache knows for certain; times are in ms since 1970, so that it can outlive the process. */
export interface EraMemory {
  readonly legacy?: { readonly transport: TransportKind; readonly learnedAt: number };
  readonly sessions?: { readonly supported: boolean; readonly learnedAt: number };
  /** It answered `server/discover` when it was last connected. */
  readonly modern?: boolean;
}

/** A time by both clocks (ms): the monotonic one for ages, and the one since 1970 for the next process. */
interface Moment {
  readonly monotonic: number;
  readonly sinceEpoch: number;
}

/** The cached finding that a server is a legacy one. */
export interface CachedLegacyEra {
  readonly era: "legacy";
  readonly transport: TransportKind;
  readonly learnedAt: Moment;
  /** False while it is only assumed, because the server exited when it was probed. */
  readonly confirmed: boolean;
}

/**
 * The era cache of one upstream. A modern server gets `server/discover` on each connect anyway, which detects a change of
 * era; that it was modern decides only how long a silent process is waited for. For a modern server it is cached whether
 * it accepts `initialize` too, as `server/discover` does not show that.
 */
export class EraCache {
  #legacy: CachedLegacyEra | undefined;
  #isModern = false;
  #sessions:
    | { readonly supported: boolean; readonly learnedAt: Moment; readonly confirmed: boolean }
    | undefined;
  /** Failures to open a session in a row, without a reason. */
  #failures = 0;

  readonly #onLearned: () => void;
  /** Whether a connection was open, now or in an earlier process: its package is cached on this machine. */
  hasConnected = false;

  /** Begins with what an earlier process knew. `onLearned`: `memory` is another from now on. */
  constructor(memory: EraMemory = {}, onLearned: () => void = () => {}) {
    this.#onLearned = onLearned;
    this.adopt(memory);
  }

  /** Takes over what another process knew and this one does not; a time in the future counts as now. */
  adopt({ legacy, sessions, modern }: EraMemory): void {
    this.hasConnected ||= legacy !== undefined || sessions !== undefined || modern === true;
    if (modern === true && this.#legacy === undefined) this.#isModern = true;
    if (legacy !== undefined && this.#legacy === undefined && !this.#isModern) {
      const { transport, learnedAt } = legacy;
      this.#legacy = { era: "legacy", transport, learnedAt: momentOf(learnedAt), confirmed: true };
    }
    if (sessions !== undefined && this.#sessions === undefined) {
      const { supported, learnedAt } = sessions;
      this.#sessions = { supported, learnedAt: momentOf(learnedAt), confirmed: true };
    }
    this.reconnected();
  }

  /** What the next process may begin with: what the server confirmed. */
  get memory(): EraMemory {
    const [legacy, sessions] = [this.legacy, this.#sessions];
    return {
      ...(legacy?.confirmed === true && {
        legacy: { transport: legacy.transport, learnedAt: legacy.learnedAt.sinceEpoch },
      }),
      ...(this.#isModern && { modern: true }),
      ...(sessions?.confirmed === true && {
        sessions: { supported: sessions.supported, learnedAt: sessions.learnedAt.sinceEpoch },
      }),
    };
  }

  /** The cached finding, while it is valid. */
  get legacy(): CachedLegacyEra | undefined {
    if (this.#legacy !== undefined && ageOf(this.#legacy.learnedAt) > TTL_MS) this.forget();
    return this.#legacy;
  }

  learn(transportKind: TransportKind, confirmed = true): void {
    // The first date stays: otherwise a server with frequent reconnects would never be probed again.
    const before = this.#legacy?.confirmed === true ? this.#legacy : undefined;
    const learnedAt = before?.learnedAt ?? momentOf();
    this.#legacy = { era: "legacy", transport: transportKind, learnedAt, confirmed };
    this.#isModern = false;
    if (confirmed && before?.transport !== transportKind) this.#onLearned();
  }

  /** Whether the server answered `server/discover` when it was last connected. */
  get isModern(): boolean {
    return this.#isModern;
  }

  learnModern(): void {
    const isKnown = this.#isModern && this.#legacy === undefined;
    this.#legacy = undefined;
    this.#isModern = true;
    if (!isKnown) this.#onLearned();
  }

  forget(): void {
    const wasKnown = this.#isModern || this.#legacy?.confirmed === true;
    this.#legacy = undefined;
    this.#isModern = false;
    if (wasKnown) this.#onLearned();
  }

  /** Whether a 2026-07-28 server opens sessions by `initialize` too; undefined while that is not known. */
  get supportsSessions(): boolean | undefined {
    const known = this.#sessions;
    if (known === undefined || known.confirmed) return known?.supported;
    const believed = Math.min(FAILURE_TTL_MS * 2 ** (this.#failures - 1), TTL_MS);
    if (ageOf(known.learnedAt) > believed) this.#sessions = undefined;
    return this.#sessions?.supported;
  }

  /** A session was opened, or not; `confirmed` is false where the server failed without refusing it. */
  learnSessions(supported: boolean, confirmed = true): void {
    const before = this.#sessions?.confirmed === true ? this.#sessions.supported : undefined;
    this.#sessions = { supported, learnedAt: momentOf(), confirmed };
    this.#failures = confirmed ? 0 : this.#failures + 1;
    if (confirmed && before !== supported) this.#onLearned();
  }

  /** The server was connected again: a refusal beyond its time is forgotten, as the server may have been updated. */
  reconnected(): void {
    const known = this.#sessions;
    if (known?.supported === false && ageOf(known.learnedAt) > TTL_MS) this.#sessions = undefined;
  }
}

/** The moment at this time in ms since 1970; default: now. */
function momentOf(at = Date.now()): Moment {
  const sinceEpoch = Math.min(at, Date.now());
  return { monotonic: performance.now() - (Date.now() - sinceEpoch), sinceEpoch };
}

const ageOf = ({ monotonic }: Moment): number => performance.now() - monotonic;

/** The era that the config pins. */
export type Pin = { readonly era: "modern" } | { readonly era: "legacy"; readonly revision: string };

/** The pin of a `protocol` value of the config; undefined for `auto`. */
export function pinOf(protocol: string): Pin | undefined {
  if (protocol === "auto") return undefined;
  if (protocol === "modern" || protocol === MODERN_REVISION) return { era: "modern" };
  return { era: "legacy", revision: protocol === "legacy" ? LEGACY_REVISIONS[0] : protocol };
}
