/** What does the policy evaluate, and what does it decide? The input of rules, in each reading of its URI, and the decision. */

import { argumentNamesOf } from "../../../core/argument-names.js";
import type { Call, Route } from "../../../core/call.js";
import type { Client } from "../../../core/client.js";
import { isUriList } from "../../../core/lists.js";
import { PARAMS } from "../../../core/members.js";
import { hasSingleReading, readingsOf } from "../../../core/uri-readings.js";
import { type JsonObject, objectAt } from "../../../wire/json.js";
import type { InteractionKind, RuleConfig } from "../config.js";
import type { Hits } from "../hits.js";
import type { Facts } from "./expression.js";

/** What the policy decides on one input. */
export interface Decision {
  readonly effect: RuleConfig["effect"];
  /** The rule that decided; absent where none matched and the default did. */
  readonly rule?: RuleConfig;
  /** Why the rule's expression could not be answered, where it could not; it was decided against the caller. */
  readonly failed?: string;
  /** Rules that redact by other readings of the URI; what they take out is taken out too. */
  readonly redacting?: readonly RedactingRule[];
  /** Of the rule that decided. */
  readonly hits?: Hits;
  /** Of the rules in `redacting`. */
  readonly redactingHits?: readonly Hits[];
}

/** A rule with the effect `redact`. */
export type RedactingRule = RuleConfig & { readonly redact: NonNullable<RuleConfig["redact"]> };
/** Whether a rule redacts. */
export const redacts = (rule: RuleConfig): rule is RedactingRule =>
  rule.effect === "redact" && rule.redact !== undefined;

/** What is evaluated: a call, or a question of a server. */
export interface PolicyInput {
  readonly on: InteractionKind;
  readonly route: Route;
  readonly client: Client;
  /**
   * The arguments of the call; nothing while only a list is shown, and where a question belongs to no call whose
   * arguments are known.
   */
  readonly args?: unknown;
  /** The parameters of the server's question. */
  readonly request?: JsonObject;
  /** Only rules that name the target may decide; an unclear rule does not name it. */
  readonly onlyNamedTargets?: boolean;
}

/**
 * The arguments as rules see them: those of a tool or prompt, an object; and those of a method that MCP does not define,
 * which may be anything. In what is completed or read a member of that name means nothing to a server.
 */
export function argsOf({ method, params }: Pick<Call, "method" | "params">): unknown {
  const hasNone = PARAMS.get(method)?.names.has("arguments") === false;
  return hasNone || params.arguments === undefined ? {} : params.arguments;
}

/** The facts that conditions see. */
export function factsOf({ route, client, args, request }: PolicyInput): Facts {
  const name = nameForRules(route);
  return {
    tool: route.kind === "tools" ? name : "",
    server: route.upstream,
    target: name,
    args: withNamesOfApi(route, args ?? {}),
    principal: client.principal,
    annotations: objectAt(route.item, "annotations") ?? {},
    request: request ?? {},
  };
}

/** Rules may use the name that is listed for an argument, and the one that an HTTP API has for it. */
function withNamesOfApi({ item }: Route, args: unknown): unknown {
  const names = argumentNamesOf(item);
  return names === undefined ? args : names.withBoth(args);
}

/** As `UriReadings`, with a route in place of each URI. */
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
