/** The postings: the entries of each term, with weights. Stored in two typed arrays for all terms together. */
import type { Steps } from "../../../runtime/cooperative-yield.js";

/** The entries of each term, in ascending order. */
export class Postings {
  readonly #terms: ReadonlyMap<string, number>;
  readonly #starts: Uint32Array;

  /**
   * @param terms the number of each term
   * @param starts the offset of each term's postings by term number, and the end of the last ones
   */
  constructor(
    terms: ReadonlyMap<string, number>,
    starts: Uint32Array,
    readonly entries: Uint32Array,
    readonly weights: Float32Array,
  ) {
    this.#terms = terms;
    this.#starts = starts;
  }

  /** The range in `entries` and `weights`; empty for an unknown term. */
  rangeOf(term: string): readonly [start: number, end: number] {
    const number = this.#terms.get(term);
    if (number === undefined) return [0, 0];
    return [this.#starts[number] ?? 0, this.#starts[number + 1] ?? 0];
  }
}

/** Collects postings, entry by entry. */
export class PostingsBuilder {
  readonly #terms = new Map<string, number>();
  #count = 0;
  #numbers = new Uint32Array(1_024);
  #entries = new Uint32Array(1_024);
  #weights = new Float32Array(1_024);

  /** Adds a term of an entry, once per entry and term; entries come in ascending order. */
  add(term: string, entry: number, weight: number): void {
    let number = this.#terms.get(term);
    if (number === undefined) {
      number = this.#terms.size;
      this.#terms.set(term, number);
    }
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count] = number;
    this.#entries[this.#count] = entry;
    this.#weights[this.#count] = weight;
    this.#count += 1;
  }

  /** Sorts the postings by term. */
  *sorted(inStep: number): Steps<Postings> {
    const starts = new Uint32Array(this.#terms.size + 1);
    for (let at = 0; at < this.#count; at++) {
      if (at % inStep === inStep - 1) yield;
      const next = (this.#numbers[at] ?? 0) + 1;
      starts[next] = (starts[next] ?? 0) + 1;
    }
    for (let number = 1; number < starts.length; number++) {
      starts[number] = (starts[number] ?? 0) + (starts[number - 1] ?? 0);
    }
    const free = starts.slice();
    const entries = new Uint32Array(this.#count);
    const weights = new Float32Array(this.#count);
    for (let at = 0; at < this.#count; at++) {
      if (at % inStep === inStep - 1) yield;
      const number = this.#numbers[at] ?? 0;
      const place = free[number] ?? 0;
      free[number] = place + 1;
      entries[place] = this.#entries[at] ?? 0;
      weights[place] = this.#weights[at] ?? 0;
    }
    return new Postings(this.#terms, starts, entries, weights);
  }

  #grow(): void {
    const length = this.#numbers.length * 2;
    this.#numbers = resized(this.#numbers, new Uint32Array(length));
    this.#entries = resized(this.#entries, new Uint32Array(length));
    this.#weights = resized(this.#weights, new Float32Array(length));
  }
}

/** `larger`, starting with the content of `array`. */
export function resized<Numbers extends Uint32Array | Float32Array | Float64Array>(
  array: Numbers,
  larger: Numbers,
): Numbers {
  larger.set(array);
  return larger;
}
