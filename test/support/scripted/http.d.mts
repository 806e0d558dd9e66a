import type { LedgerEntry } from "./ledger.js";

export interface ScriptedHttp {
  readonly url: string;
  ledger(): readonly LedgerEntry[];
  /** Ends every stream of changes, as a server does that is about to be replaced. */
  hangUp(): void;
  /** Is gone at once: every connection breaks, and nobody listens any more. */
  stop(): Promise<void>;
}

export function startScripted(
  kind: "legacy" | "sse" | "modern",
  options?: { readonly revision?: string },
): Promise<ScriptedHttp>;
