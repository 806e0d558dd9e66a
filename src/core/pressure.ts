/** How short of memory the process is, and what is given up at each step so that the rest can go on. */

/** 0 is none. */
export type PressureLevel = 0 | 1 | 2 | 3;

export interface Pressure {
  readonly level: PressureLevel;
}

/**
 * From which level on something is given up. What costs most for least comes first: a stream takes memory for as
 * long as it lasts; a call that is refused can be made again; a connection that is refused cannot even be told why.
 */
export const SHED_LEVELS = {
  /** No new streams, and no connection is kept for another request. */
  streams: 1,
  /** No new calls; those under way go on. */
  calls: 2,
  /** No new connections. */
  connections: 3,
} as const satisfies Readonly<Record<string, PressureLevel>>;

/** What was refused; a label of the metric `cardea_overload_refusals_total`. */
export type LoadShedKind = keyof typeof SHED_LEVELS;

export const NO_PRESSURE: Pressure = { level: 0 };
