/** What must the gateway know again when a call comes back with answers? Hosts carry it, sealed (policy/sealed-state.ts). */
import type { QuestionKind } from "./methods.js";

/**
 * The state of one round of a call. Each layer writes and reads its own member and leaves the others alone. What is read
 * here was written here: hosts cannot forge a sealed state, and what a server sends is never anything but `server`.
 */
export interface RoundState {
  /** The server's own `requestState` (2026-07-28: basic/patterns/mrtr), returned to it as it was. */
  readonly server?: string;
  /** Token of the call that is parked for a legacy server. */
  readonly parked?: string;
  /** Ids of the links that the person was sent to (2025-11-25: error -32042); the call is then made again. */
  readonly links?: readonly string[];
  readonly policy?: PolicyRoundState;
}

/** What the policy must know again. */
export interface PolicyRoundState {
  /** The rule that asked for approval, the single use of the answer, and whether not all of the call was shown. */
  readonly asked?: { readonly rule: string; readonly nonce: string; readonly isCut?: boolean };
  /** The rule whose approval was given in an earlier round. */
  readonly approved?: string;
  /** Questions of this round that the policy refused; they are answered together with the rest. */
  readonly refused?: Readonly<Record<string, QuestionKind>>;
  /** How many rounds of the server's questions there have been. */
  readonly rounds: number;
}
