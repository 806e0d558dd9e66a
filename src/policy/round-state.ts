/** What the policy must know again when a call comes back with answers, carried in the state of the round. */
import type { QuestionKind } from "../core/methods.js";
import { isObject, stringAt } from "../wire/json.js";

/**
 * It goes out and comes in through `sealedState`, which stands above and lets only the same principal come back
 * with the same call: what is read here is what was written here, or what a server wrote.
 */
export interface RoundState {
  /** The rule whose approval was asked for, and the one use of the answer. */
  readonly asked?: { readonly rule: string; readonly nonce: string };
  /** The rule whose approval was given in an earlier round. */
  readonly approved?: string;
  /** Questions of this round that were refused on the way; they are answered together with the rest. */
  readonly refused?: Readonly<Record<string, QuestionKind>>;
  /** How many rounds of the server's questions there have been. */
  readonly rounds: number;
  /** The server's own state. */
  readonly inner?: string;
}

const MARK = "cardea/policy ";

export const writeRound = (round: RoundState): string => MARK + JSON.stringify(round);

/** Undefined for a state that is the server's own. */
export function readRound(state: string | undefined): RoundState | undefined {
  if (state === undefined || !isOurs(state)) return undefined;
  const round: unknown = JSON.parse(state.slice(MARK.length));
  if (!isObject(round)) return undefined;
  const { asked, refused, rounds } = round as Partial<RoundState>;
  const approved = stringAt(round, "approved");
  const inner = stringAt(round, "inner");
  return {
    ...(asked !== undefined && { asked }),
    ...(approved !== undefined && { approved }),
    ...(refused !== undefined && { refused }),
    rounds: rounds ?? 0,
    ...(inner !== undefined && { inner }),
  };
}

/** A server that writes our mark gets its state wrapped, so that it can never speak for us. */
export const isOurs = (state: string): boolean => state.startsWith(MARK);
