/** What was learnt of a server's era, when, and how long that is believed. */
import { LEGACY_REVISIONS, MODERN_REVISION } from "../wire/names.js";

/** A server that was legacy may have been replaced by a modern one; after so long (ms) it is asked again. */
const BELIEVED_MS = 60 * 60_000;
/** So long (ms) a server that failed to take `initialize`, and did not say why, is taken not to know it; then twice. */
const DOUBTED_MS = 60_000;

/** How a channel to a server can be opened. */
export type Way = "stdio" | "http" | "sse";

export interface Legacy {
  readonly era: "legacy";
  readonly way: Way;
  /** `performance.now()` of the moment it was learnt. */
  readonly at: number;
  /** False while it is only assumed, because the server ended when it was asked. */
  readonly sure: boolean;
}

/**
 * One upstream's memory. Of the shared connection only "legacy" needs to be remembered: a modern server is met by
 * `server/discover` anyway, because that tells what it offers, and so a change for the other side is noticed by itself.
 * Of a modern server it is remembered whether it takes `initialize` as well: `server/discover` does not say so.
 */
export class EraVerdict {
  #legacy: Legacy | undefined;
  #sessions: { readonly taken: boolean; readonly at: number; readonly sure: boolean } | undefined;
  /** How often in a row it failed to open a session without a word. */
  #doubts = 0;

  /** The last verdict, if it is still believed. */
  get legacy(): Legacy | undefined {
    if (this.#legacy !== undefined && performance.now() - this.#legacy.at > BELIEVED_MS) this.forget();
    return this.#legacy;
  }

  learn(way: Way, sure = true): void {
    // The date stays that of the first time: otherwise a server that is often met would never be asked again.
    const at = this.#legacy?.sure === true ? this.#legacy.at : performance.now();
    this.#legacy = { era: "legacy", way, at, sure };
  }

  forget(): void {
    this.#legacy = undefined;
  }

  /** Whether a server of 2026-07-28 opens sessions by `initialize` too; undefined while that is not known. */
  get takesSessions(): boolean | undefined {
    const known = this.#sessions;
    if (known === undefined || known.sure) return known?.taken;
    const believed = Math.min(DOUBTED_MS * 2 ** (this.#doubts - 1), BELIEVED_MS);
    if (performance.now() - known.at > believed) this.#sessions = undefined;
    return this.#sessions?.taken;
  }

  /** A session was opened, or not; `sure` is false where the server failed and did not refuse. */
  learnSessions(taken: boolean, sure = true): void {
    this.#sessions = { taken, at: performance.now(), sure };
    this.#doubts = sure ? 0 : this.#doubts + 1;
  }

  /** The server was met anew. What it refused long ago it may take now, as another version of it may have come. */
  metAnew(): void {
    const known = this.#sessions;
    if (known?.taken === false && performance.now() - known.at > BELIEVED_MS) this.#sessions = undefined;
  }
}

/** What the config says of the era; `undefined` for `auto`. */
export type Pin = { readonly era: "modern" } | { readonly era: "legacy"; readonly revision: string };

export function pinOf(protocol: string): Pin | undefined {
  if (protocol === "auto") return undefined;
  if (protocol === "modern" || protocol === MODERN_REVISION) return { era: "modern" };
  return { era: "legacy", revision: protocol === "legacy" ? LEGACY_REVISIONS[0] : protocol };
}
