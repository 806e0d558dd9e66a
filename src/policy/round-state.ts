/** What the policy must know again when a call comes back with answers, carried in the state of the round. */
import { randomBytes } from "node:crypto";
import type { QuestionKind } from "../core/methods.js";
import { isObject, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";

/**
 * It goes out and comes in through `sealedState`, which stands above and lets only the same principal come back
 * with the same call: what is read here is what was written here, or what a server wrote.
 */
export interface RoundState {
  /** The rule whose approval was asked for, the one use of the answer, and whether not all of the call was shown. */
  readonly asked?: { readonly rule: string; readonly nonce: string; readonly isCut?: boolean };
  /** The rule whose approval was given in an earlier round. */
  readonly approved?: string;
  /** Questions of this round that were refused on the way; they are answered together with the rest. */
  readonly refused?: Readonly<Record<string, QuestionKind>>;
  /** How many rounds of the server's questions there have been. */
  readonly rounds: number;
  /** The server's own state. */
  readonly inner?: string;
}

/** What a mark is made from where no secret is given: the states of this process, and of no other. */
const PROCESS_SECRET = randomBytes(16).toString("base64url");

/**
 * Writes and reads the states of rounds. Each begins with a secret mark. No server ever sees a state of the policy,
 * so none can write one, in whatever config its call began; and what was written under one config is told apart from
 * the states of servers under the next one, whatever rules that has.
 */
export class RoundStates {
  readonly #mark: string;

  /** @param secret the same in every process, and after a restart, where states are to be answered there */
  constructor(secret: string = PROCESS_SECRET) {
    this.#mark = `cardea/policy ${secret} `;
  }

  write(round: RoundState): string {
    return this.#mark + writeJson(round);
  }

  /** Whether the policy wrote it; every other state is a server's own. */
  isOurs(state: string): boolean {
    return state.startsWith(this.#mark);
  }

  /** Undefined for a state that is the server's own. */
  read(state: string | undefined): RoundState | undefined {
    if (state === undefined || !this.isOurs(state)) return undefined;
    const round: unknown = parseJson(state.slice(this.#mark.length));
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
}
