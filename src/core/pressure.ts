/** What is refused at which level of memory pressure? */

/** 0: no memory pressure. */
export type PressureLevel = 0 | 1 | 2 | 3;

/** The current memory pressure of the process. */
export interface Pressure {
  readonly level: PressureLevel;
}

/**
 * The level from which each kind of load is shed, cheapest loss first: a stream takes memory as long as it lasts; a
 * refused call can be retried; a refused connection gets no reason.
 */
export const SHED_LEVELS = {
  /** No new streams, and no keep-alive. */
  streams: 1,
  /** No new calls; running ones continue. */
  calls: 2,
  /** No new connections. */
  connections: 3,
} as const satisfies Readonly<Record<string, PressureLevel>>;

/** What was refused; a label of the metric `cardea_overload_refusals_total`. */
export type LoadShedKind = keyof typeof SHED_LEVELS;

/** For tests and for parts that run without a watch on memory. */
export const NO_PRESSURE: Pressure = { level: 0 };
