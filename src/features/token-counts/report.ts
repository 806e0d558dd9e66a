/** The token cost of tool definitions in a model's context, for `cardea tokens` and `GET /api/v1/tokens`. */

import type { Client } from "../../core/client.js";
import type { Saving } from "../../core/feature.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { estimateTokens } from "../../core/token-estimate.js";
import { CLI_CLIENT } from "../../gateway/live-config.js";
import type { Pipeline } from "../../gateway/pipeline.js";
import { cliLists, type OnServer } from "../../gateway/views/cli-calls.js";
import { type PrincipalQuery, supposedClient } from "../../gateway/views/explain.js";
import { DefinitionCosts, type ListCost } from "./definition-cost.js";

/** The cost of all definitions, as one principal sees them. */
export interface TokenReport {
  /** The whole gateway first, then each profile. */
  readonly endpoints: readonly EndpointTokens[];
  /** Every tool of the whole gateway, the most expensive first. */
  readonly tools: readonly ToolTokens[];
  /** Settings that would shorten definitions, if they save something. */
  readonly savings: readonly Saving[];
  /** When the running gateway started to count calls; absent if none is running. */
  readonly counted?: { readonly since: string; readonly seconds: number };
}

/** The cost at one URL. */
export interface EndpointTokens {
  /** "" for the whole gateway, or the NAME of `/mcp/NAME`. */
  readonly name: string;
  /** Its path on the listener for hosts. */
  readonly path: string;
  readonly tools: number;
  /** The list of tools as JSON. */
  readonly bytes: number;
  /** Of the tools and the instructions. */
  readonly tokens: number;
  readonly instructions: number;
  /** In config order. */
  readonly servers: readonly ServerTokens[];
}

/** The tools of one server at one URL. */
interface ServerTokens extends ListCost {
  readonly server: string;
  /** Share of the tokens at this URL, from 0 to 1. */
  readonly share: number;
}

/** One tool. */
export interface ToolTokens {
  /** The exposed name. */
  readonly name: string;
  readonly server: string;
  /** The server's own name. */
  readonly target: string;
  readonly bytes: number;
  readonly tokens: number;
  /** Number of counted calls; absent if unknown. */
  readonly calls?: number;
}

/** Calls of tools by server and own name; undefined for a server without known counts. */
interface CallCounts {
  readonly since: Date;
  of(server: string): ReadonlyMap<string, number> | undefined;
}

interface TokenQuery {
  readonly as?: PrincipalQuery | undefined;
  readonly onServer?: OnServer | undefined;
  /** Cancels the wait for servers. */
  readonly signal?: StopSignal | undefined;
  /** Absent if no calls were counted. */
  readonly calls?: CallCounts | undefined;
  /** Cached costs. */
  readonly costs?: DefinitionCosts;
}

/** The report, after the first start of each server. */
export async function tokenReport(
  pipeline: () => Pipeline,
  { as, onServer, signal = new Stop().signal, calls, costs = new DefinitionCosts() }: TokenQuery,
): Promise<TokenReport> {
  await cliLists(pipeline, "tools", { as, onServer, signal });
  const { catalog, config, features } = pipeline();
  const client = as === undefined ? CLI_CLIENT : supposedClient(as, config.auth);
  const list = catalog.view(client).list("tools");
  await costs.prepare(list);
  return {
    endpoints: ["", ...Object.keys(config.profiles)].map((name) => ({
      name,
      path: `${config.listen.http.path}${name === "" ? "" : `/${encodeURIComponent(name)}`}`,
      ...endpointTokens(catalog, atEndpoint(client, name), costs),
    })),
    tools: list.entries
      .map(({ route, item }): ToolTokens => {
        const { exposed: name, upstream: server, target } = route;
        const counts = calls?.of(server);
        const called = counts === undefined ? {} : { calls: counts.get(target) ?? 0 };
        return { name, server, target, ...costs.of(item), ...called };
      })
      .toSorted((a, b) => b.tokens - a.tokens),
    savings: await features.savings({ entries: list.entries, costOf: (item) => costs.of(item) }, config),
    ...(calls !== undefined && {
      counted: {
        since: calls.since.toISOString(),
        seconds: Math.round((Date.now() - calls.since.getTime()) / 1000),
      },
    }),
  };
}

/** The same client at the URL of a profile. */
const atEndpoint = (client: Client, endpoint: string): Client =>
  endpoint === "" ? client : { ...client, endpoint, affinity: `${client.affinity} at ${endpoint}` };

function endpointTokens(
  catalog: Pick<Pipeline["catalog"], "listed" | "describe">,
  client: Client,
  costs: DefinitionCosts,
): Omit<EndpointTokens, "name" | "path"> {
  const rows = [...costs.byServer(catalog.listed(client, "tools"))];
  const sum = (member: keyof ListCost): number => rows.reduce((total, [, cost]) => total + cost[member], 0);
  const instructions = estimateTokens(catalog.describe(client).instructions ?? "");
  const tokens = sum("tokens") + instructions;
  return {
    tools: sum("tools"),
    bytes: sum("bytes"),
    tokens,
    instructions,
    servers: rows.map(([server, cost]) => ({
      // Tools of the gateway itself belong to no server.
      server: server === "" ? "cardea" : server,
      ...cost,
      share: shareOf(cost.tokens, tokens),
    })),
  };
}

/** Rounded to a thousandth. */
const shareOf = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.round((part / whole) * 1000) / 1000;
