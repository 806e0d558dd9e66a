/** An observable value for components. */
import { useEffect, useState } from "preact/hooks";

/** Holds one immutable state; a change replaces it. */
export class Store<State> {
  #state: State;
  readonly #watchers = new Set<() => void>();

  constructor(initial: State) {
    this.#state = initial;
  }

  get state(): State {
    return this.#state;
  }

  /** Replaces the members of `change`. */
  set(change: Partial<State>): void {
    this.#state = { ...this.#state, ...change };
    for (const watcher of this.#watchers) watcher();
  }

  /** Calls `watcher` after each change. @returns unsubscribes */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** The state of `store` in a component, which is redrawn after each change. */
export function useStore<State>(store: Store<State>): State {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    const update = (): void => setState(store.state);
    // The state may have changed between drawing and this effect.
    update();
    return store.watch(update);
  }, [store]);
  return state;
}
