/**
 * The routes as which rules look at a call: one for each way in which its URI can be read, and two for a tool or prompt
 * whose name begins with the prefix of another server.
 */
import type { Route } from "../../core/call.js";
import { isUriList } from "../../core/lists.js";
import { hasSingleReading, readingsOf } from "../../core/uri-readings.js";

/** As `UriReadings`, with a route in the place of each URI. */
export interface RouteReadings {
  /** The first is the route itself. */
  readonly all: readonly Route[];
  readonly alike: readonly Route[];
  readonly complete: boolean;
}

/** The name that rules are written against. */
export const nameForRules = (route: Route): string => route.aggregateName ?? route.exposed;

/** Whether a route is found by a URI. */
export const hasUri = ({ kind }: Route): boolean => isUriList(kind);

const made = new WeakMap<Route, RouteReadings>();
const originalNames = new WeakMap<Route, string>();

/** Undefined where there is one reading, as of nearly all. */
export function readingsOfRoute(route: Route): RouteReadings | undefined {
  const { unambiguousName } = route;
  if (unambiguousName === undefined && !hasUri(route)) return undefined;
  const name = nameForRules(route);
  if (unambiguousName === undefined && hasSingleReading(name)) return undefined;
  const known = made.get(route);
  if (known !== undefined) return known;
  const { all, alike, complete } =
    unambiguousName === undefined
      ? readingsOf(name)
      : { all: [name, unambiguousName], alike: [], complete: true };
  const as = (reading: string): Route => {
    const read: Route = { ...route, aggregateName: reading };
    originalNames.set(read, name);
    return read;
  };
  const readings = { all: [route, ...all.slice(1).map(as)], alike: alike.map(as), complete };
  made.set(route, readings);
  return readings;
}

/** The URI of which `route` is another reading; undefined where the route is one by itself. */
export const originalNameOf = (route: Route): string | undefined => originalNames.get(route);
