/**
 * Runs the states of a glob over names. The sets of states that a name can be in are made once and kept, so that each
 * character of a name costs a look into a table, and not a walk through the pattern.
 */

/** A state of a glob: `on` eats one character and goes to `next`; without `on` it goes on for free. */
export interface State {
  readonly on?: string;
  readonly next: readonly State[];
  readonly accepts?: true;
}

/** Longer than any character, so that no character of a pattern means it by accident. */
export const ANY = "any";

/** All states that a name can be in behind some of its characters. */
interface StateSet {
  readonly states: readonly State[];
  readonly accepts: boolean;
  /** By the class of the next character; made when it is first needed. */
  readonly next: (StateSet | undefined)[];
}

/** More sets are not kept; hostile names can lead through very many, and then each is made anew. */
const MAX_SETS = 256;

export class GlobAutomaton {
  /** Characters that the pattern names, each a class of its own; all others are class 0. */
  readonly #classes = new Map<number, number>();
  readonly #characters: string[] = [""];
  readonly #ids = new Map<State, number>();
  readonly #start: StateSet;
  #known = new Map<string, StateSet>();

  constructor(start: State) {
    this.#number(start);
    this.#start = this.#setOf([start]);
  }

  matches(name: string): boolean {
    let set = this.#start;
    for (let at = 0; at < name.length; at++) {
      const code = name.codePointAt(at) as number;
      if (code > 0xffff) at++;
      const kind = this.#classes.get(code) ?? 0;
      set = set.next[kind] ?? this.#step(set, kind);
      if (set.states.length === 0) return false;
    }
    return set.accepts;
  }

  #step(set: StateSet, kind: number): StateSet {
    const character = this.#characters[kind];
    const eaten = set.states.flatMap(({ on, next }) => (on === ANY || on === character ? next : []));
    const made = this.#setOf(eaten);
    set.next[kind] = made;
    return made;
  }

  #setOf(states: readonly State[]): StateSet {
    const reached = [...epsilonClosure(states)];
    const key = reached
      .map((state) => this.#ids.get(state) ?? 0)
      .sort((a, b) => a - b)
      .join();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_SETS) {
      // What led to the old ones is forgotten with them.
      for (const old of this.#known.values()) old.next.length = 0;
      this.#known = new Map();
    }
    const made = { states: reached, accepts: reached.some(({ accepts }) => accepts === true), next: [] };
    this.#known.set(key, made);
    return made;
  }

  #number(start: State): void {
    const all = new Set([start]);
    // A set hands out what is added to it while it is walked.
    for (const state of all) {
      this.#ids.set(state, this.#ids.size);
      const { on = ANY } = state;
      const code = on.codePointAt(0) as number;
      if (on !== ANY && !this.#classes.has(code)) {
        this.#classes.set(code, this.#characters.length);
        this.#characters.push(on);
      }
      for (const next of state.next) all.add(next);
    }
  }
}

/** The states that are reached from these for free, and they themselves. */
function epsilonClosure(states: readonly State[]): ReadonlySet<State> {
  const seen = new Set<State>(states);
  for (const state of seen) if (state.on === undefined) for (const next of state.next) seen.add(next);
  return seen;
}
