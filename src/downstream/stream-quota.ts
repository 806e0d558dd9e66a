/** How many event streams may hosts open: in all, per principal, and under memory pressure? */
import { ANONYMOUS, type Principal } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { type LoadShedKind, NO_PRESSURE, type Pressure, SHED_LEVELS } from "../core/pressure.js";
import type { StreamQuota } from "./edge.js";

/** Limits of the event streams. */
export interface StreamQuotaOptions {
  /** Default 10,000. */
  readonly total?: number;
  /** Default 50. It does not apply to the anonymous principal, which all clients without credentials share. */
  readonly perPrincipal?: number;
  readonly pressure?: Pressure;
  readonly onShed?: (what: LoadShedKind) => void;
}

/** When to come back, in ms. */
const RETRY_AFTER_MS = 5_000;

/** The quota of all event streams of one gateway. */
export class SharedStreamQuota implements StreamQuota {
  readonly #options: Required<StreamQuotaOptions>;
  #open = 0;
  readonly #byPrincipal = new Map<string, number>();

  constructor(options: StreamQuotaOptions = {}) {
    this.#options = { total: 10_000, perPrincipal: 50, pressure: NO_PRESSURE, onShed: () => {}, ...options };
  }

  acquire({ id }: Principal): () => void {
    const { total, perPrincipal, pressure } = this.#options;
    const own = this.#byPrincipal.get(id) ?? 0;
    if (pressure.level >= SHED_LEVELS.streams)
      throw this.#overloaded("the gateway is short of memory: no new streams");
    if (this.#open >= total) throw this.#overloaded(`${total} streams are open, which is all there may be`);
    if (own >= perPrincipal && id !== ANONYMOUS.id) {
      throw this.#overloaded(`you have ${own} streams open, which is all that one may have`);
    }
    this.#open += 1;
    this.#byPrincipal.set(id, own + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#open -= 1;
      const left = (this.#byPrincipal.get(id) ?? 1) - 1;
      if (left > 0) this.#byPrincipal.set(id, left);
      else this.#byPrincipal.delete(id);
    };
  }

  #overloaded(sentence: string): GatewayError {
    this.#options.onShed("streams");
    return new GatewayError("overloaded", "gateway", sentence, {
      retryable: true,
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
}
