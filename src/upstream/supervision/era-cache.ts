/** What was learnt of a server's era, when, and how long that is believed. */
import { LEGACY_REVISIONS, MODERN_REVISION } from "../../wire/names.js";

/** A server that was legacy may have been replaced by a modern one; after so long (ms) it is asked again. */
const TTL_MS = 60 * 60_000;
/** So long (ms) a server that failed to take `initialize`, and did not say why, is taken not to know it; then twice. */
const FAILURE_TTL_MS = 60_000;

/** How a channel to a server can be opened. */
export type TransportKind = "stdio" | "http" | "sse";

export interface CachedLegacyEra {
  readonly era: "legacy";
  readonly transport: TransportKind;
  /** `performance.now()` of the moment it was learnt. */
  readonly learnedAt: number;
  /** False while it is only assumed, because the server ended when it was asked. */
  readonly confirmed: boolean;
}

/**
 * One upstream's memory. Of the shared connection only "legacy" needs to be remembered: a modern server is met by
 * `server/discover` anyway, because that tells what it offers, and so a change for the other side is noticed by itself.
 * Of a modern server it is remembered whether it takes `initialize` as well: `server/discover` does not say so.
 */
export class EraCache {
  #legacy: CachedLegacyEra | undefined;
  #sessions:
    | { readonly supported: boolean; readonly learnedAt: number; readonly confirmed: boolean }
    | undefined;
  /** How often in a row it failed to open a session without a word. */
  #failures = 0;

  /** The last verdict, if it is still believed. */
  get legacy(): CachedLegacyEra | undefined {
    if (this.#legacy !== undefined && performance.now() - this.#legacy.learnedAt > TTL_MS) this.forget();
    return this.#legacy;
  }

  learn(transportKind: TransportKind, confirmed = true): void {
    // The date stays that of the first time: otherwise a server that is often met would never be asked again.
    const learnedAt = this.#legacy?.confirmed === true ? this.#legacy.learnedAt : performance.now();
    this.#legacy = { era: "legacy", transport: transportKind, learnedAt, confirmed };
  }

  forget(): void {
    this.#legacy = undefined;
  }

  /** Whether a server of 2026-07-28 opens sessions by `initialize` too; undefined while that is not known. */
  get supportsSessions(): boolean | undefined {
    const known = this.#sessions;
    if (known === undefined || known.confirmed) return known?.supported;
    const believed = Math.min(FAILURE_TTL_MS * 2 ** (this.#failures - 1), TTL_MS);
    if (performance.now() - known.learnedAt > believed) this.#sessions = undefined;
    return this.#sessions?.supported;
  }

  /** A session was opened, or not; `sure` is false where the server failed and did not refuse. */
  learnSessions(supported: boolean, confirmed = true): void {
    this.#sessions = { supported, learnedAt: performance.now(), confirmed };
    this.#failures = confirmed ? 0 : this.#failures + 1;
  }

  /** The server was met anew. What it refused long ago it may take now, as another version of it may have come. */
  reconnected(): void {
    const known = this.#sessions;
    if (known?.supported === false && performance.now() - known.learnedAt > TTL_MS)
      this.#sessions = undefined;
  }
}

/** What the config says of the era; `undefined` for `auto`. */
export type Pin = { readonly era: "modern" } | { readonly era: "legacy"; readonly revision: string };

export function pinOf(protocol: string): Pin | undefined {
  if (protocol === "auto") return undefined;
  if (protocol === "modern" || protocol === MODERN_REVISION) return { era: "modern" };
  return { era: "legacy", revision: protocol === "legacy" ? LEGACY_REVISIONS[0] : protocol };
}
