/** Giving up, told to whoever works on a call: AbortController and AbortSignal without what makes them dear. */

/** What may be asked of a signal. An AbortSignal is one too, so whoever takes this takes either. */
export interface StopSignal {
  readonly aborted: boolean;
  /** Why: what was given to `abort`. */
  readonly reason: unknown;
  /** Called when it is aborted, which happens once; never afterwards. The same listener counts once. */
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Both ends in one object. A call needs two or three, nearly none of which is ever aborted; Node's own, being
 * event targets with events, cost 8 µs a call, and these next to nothing.
 */
export class Stop implements StopSignal {
  #aborted = false;
  #reason: unknown;
  /** Nearly always there are none, one or two. */
  #listeners: readonly (() => void)[] = NO_LISTENERS;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The end that listens. */
  get signal(): StopSignal {
    return this;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#aborted || this.#listeners.includes(listener)) return;
    this.#listeners = this.#listeners === NO_LISTENERS ? [listener] : [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const [only] = this.#listeners;
    if (this.#listeners.length === 1 && only === listener) this.#listeners = NO_LISTENERS;
    else if (this.#listeners.includes(listener)) {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    }
  }

  /** Tells everybody who listens, in the order in which they came. A second time it does nothing. */
  abort(reason: unknown = new Error("it was given up")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners) {
      // Whoever hears of it first may take the others' word away.
      if (this.#listeners.includes(listener)) callListener(listener);
    }
    this.#listeners = NO_LISTENERS;
  }
}

const NO_LISTENERS: readonly (() => void)[] = [];

/** A listener that throws must keep neither the others nor whoever gives up from going on. */
function callListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
