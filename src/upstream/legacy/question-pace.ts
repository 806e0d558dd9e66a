/** How long does a question of this server wait for others that it asks together with it? */

/** Questions within this time (ms) are asked together. */
const TOGETHER_MS = 20;
/** A server whose last rounds had one question each is taken to ask one at a time. */
const SINGLE_ROUNDS = 3;

/**
 * What the connections of a server have seen of its questions. A wrong guess loses nothing: a question that comes too late is asked in a round
 * of its own, and the next ones wait again.
 */
export class QuestionPace {
  #singleRounds = 0;

  /** How long (ms) a question waits for further ones; 0: until the messages that came with it are read. */
  get waitMs(): number {
    return this.#singleRounds >= SINGLE_ROUNDS ? 0 : TOGETHER_MS;
  }

  /** A question came while another one of the same call was open. */
  askedTogether(): void {
    this.#singleRounds = 0;
  }

  /** A round with this number of questions was answered. */
  answered(questions: number): void {
    if (questions === 1) this.#singleRounds += 1;
  }
}
