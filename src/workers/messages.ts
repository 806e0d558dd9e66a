/** What the first process and its workers say to each other. */
import type { Seat } from "../core/seat.js";

export type ToWorker =
  | { readonly kind: "seat"; readonly seat: Seat }
  /** Take no new calls and let those under way finish; the second time, stop at once. */
  | { readonly kind: "stop"; readonly immediate: boolean }
  /** Read the config again. */
  | { readonly kind: "reload" };

export type FromWorker =
  /** It hears: what is said to a worker before that, it never hears. */
  | { readonly kind: "hears" }
  /** Its listeners are open. */
  | { readonly kind: "ready"; readonly url: string };

/** Set in the environment of a worker, which waits for its seat then. */
export const SEATED = "CARDEA_SEATED";
