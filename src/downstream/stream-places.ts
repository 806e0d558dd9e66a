/** Room for the event streams that hosts open: so many in all, so many for one principal, none when memory is short. */
import { ANONYMOUS, type Principal } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { NO_PRESSURE, type Pressure, SHEDS, type Shed } from "../core/pressure.js";
import type { StreamRoom } from "./edge.js";

export interface StreamPlacesOptions {
  /** Default 10,000. */
  readonly total?: number;
  /** Default 50. Where nobody says who they are, everybody is the same principal, so it does not hold for that one. */
  readonly perPrincipal?: number;
  readonly pressure?: Pressure;
  readonly shed?: (what: Shed) => void;
}

/** When to come back, in ms. */
const LATER_MS = 5_000;

export class StreamPlaces implements StreamRoom {
  readonly #options: Required<StreamPlacesOptions>;
  #taken = 0;
  readonly #byPrincipal = new Map<string, number>();

  constructor(options: StreamPlacesOptions = {}) {
    this.#options = { total: 10_000, perPrincipal: 50, pressure: NO_PRESSURE, shed: () => {}, ...options };
  }

  take({ id }: Principal): () => void {
    const { total, perPrincipal, pressure } = this.#options;
    const own = this.#byPrincipal.get(id) ?? 0;
    if (pressure.level >= SHEDS.streams)
      throw this.#refused("the gateway is short of memory: no new streams");
    if (this.#taken >= total) throw this.#refused(`${total} streams are open, which is all there may be`);
    if (own >= perPrincipal && id !== ANONYMOUS.id) {
      throw this.#refused(`you have ${own} streams open, which is all that one may have`);
    }
    this.#taken += 1;
    this.#byPrincipal.set(id, own + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#taken -= 1;
      const left = (this.#byPrincipal.get(id) ?? 1) - 1;
      if (left > 0) this.#byPrincipal.set(id, left);
      else this.#byPrincipal.delete(id);
    };
  }

  #refused(sentence: string): GatewayError {
    this.#options.shed("streams");
    return new GatewayError("overloaded", "gateway", sentence, { retryable: true, retryAfterMs: LATER_MS });
  }
}
