/** What does `find_tools` answer to one client? The tools of its own view that match, never those that rules hide from it. */

import type { Handler } from "../../core/call.js";
import { badRequest, cancelledWhileStarting, type GatewayError } from "../../core/errors.js";
import type { AwaitedTools, ExposedItem, ToolList } from "../../core/list-transform.js";
import { isAvailable } from "../../core/server-condition.js";
import { isObject, numberOf, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { absentServers } from "./absent-servers.js";
import { type Detail, foundToolsResult } from "./found-tools.js";
import { DETAILS, FIND_TOOLS, MAX_FOUND } from "./own-tools.js";
import type { FoundTools, ToolSearch } from "./tool-search.js";

/** What a search reads, and whom it tells. */
export interface FindToolsOptions {
  readonly catalog: AwaitedTools;
  readonly search: ToolSearch;
  /** Called with the number of matches of each search. */
  readonly onSearch: (matches: number) => void;
}

/**
 * Waits for servers in their first start as a list does, and reaches no server.
 *
 * @throws GatewayError `bad_request` that names the argument, and `cancelled`
 */
export function findTools({ catalog, search, onSearch }: FindToolsOptions): Handler {
  return async function findTools({ method, params, client, signal }) {
    const { query, server, limit, detail } = readArguments(params.arguments);
    await catalog.prepareLists(client, signal);
    if (signal.aborted) throw cancelledWhileStarting(method, signal.reason);
    const { latest } = catalog;
    const list = latest.toolsOf(client);
    const { tools } = list;
    const introduced = latest.serversFor(client);
    const isNamed = ({ name }: { readonly name: string }): boolean => server === undefined || name === server;
    const candidates = introduced.filter((each) => isNamed(each) && !isAvailable(each.condition));
    const hasTools = server === undefined || tools.entries.some(({ route }) => route.upstream === server);
    if (!hasTools && candidates.length === 0) throw unknownServer(server, tools);
    const exact = exactMatch(tools, query, server);
    const found =
      exact !== undefined && isDistinctive(query)
        ? { entries: [exact], total: 1 }
        : withFirst(exact, await search.find(list, { query, server, limit }, latest), limit);
    onSearch(found.total);
    const unavailable = await absentServers(candidates, query, found.entries);
    const isExact = exact !== undefined && found.total === 1;
    return {
      kind: "result",
      result: foundToolsResult(found, {
        detail,
        isExact,
        isBlank: query === "",
        unavailable,
        servers: found.total === 0 ? serversOf(tools) : [],
      }),
    };
  };
}

/** A word such as `fetch` may be the name of a tool and a search for others; `fetch_page` is no search. */
const isDistinctive = (name: string): boolean => /[^a-z]/.test(name);

function exactMatch(tools: ToolList, name: string, server: string | undefined): ExposedItem | undefined {
  const entry = tools.has(name) ? tools.entries[tools.indexOf(name)] : undefined;
  return server === undefined || entry?.route.upstream === server ? entry : undefined;
}

function withFirst(first: ExposedItem | undefined, found: FoundTools, limit: number): FoundTools {
  if (first === undefined) return found;
  const others = found.entries.filter((entry) => entry.route !== first.route);
  const wasFound = others.length < found.entries.length;
  return { entries: [first, ...others].slice(0, limit), total: found.total + (wasFound ? 0 : 1) };
}

/** The servers that have some of the tools, in list order. */
export const serversOf = (tools: ToolList): readonly string[] => [
  ...new Set(tools.entries.map(({ route }) => route.upstream)),
];

interface FindArguments {
  readonly query: string;
  readonly server: string | undefined;
  readonly limit: number;
  readonly detail: Detail | undefined;
}

const MEMBERS = ["query", "server", "limit", "detail"];
const DEFAULT_LIMIT = 8;
/** Longer queries (characters) are no description of a tool. */
const MAX_QUERY_LENGTH = 2_000;

function readArguments(given: unknown): FindArguments {
  const args = given ?? {};
  if (!isObject(args)) throw malformed("needs an object of arguments");
  const [unknown] = Object.keys(without(args, MEMBERS));
  if (unknown !== undefined) {
    throw malformed(`has no argument ${quoted(unknown)}; it takes ${MEMBERS.join(", ")}`);
  }
  const { query, server, detail } = args;
  if (typeof query !== "string") throw malformed('needs "query": what the tool should do, in a few words');
  if (query.length > MAX_QUERY_LENGTH)
    throw malformed(`takes a "query" of ${MAX_QUERY_LENGTH} characters at most`);
  if (server !== undefined && typeof server !== "string") throw malformed('needs "server" to be a string');
  if (detail !== undefined && !isDetail(detail)) {
    throw malformed(`needs "detail" to be one of ${DETAILS.join(", ")}`);
  }
  return { query: query.trim(), server, limit: readLimit(args.limit), detail };
}

function readLimit(given: unknown): number {
  if (given === undefined) return DEFAULT_LIMIT;
  const limit = numberOf(given);
  if (limit === undefined || !Number.isInteger(limit) || limit < 1 || limit > MAX_FOUND) {
    throw malformed(`needs "limit" to be a whole number from 1 to ${MAX_FOUND}`);
  }
  return limit;
}

const isDetail = (value: unknown): value is Detail => (DETAILS as readonly unknown[]).includes(value);

function unknownServer(server: string, tools: ToolList): GatewayError {
  const known = serversOf(tools);
  const others =
    known.length === 0 ? "no server has a tool at the moment" : `the servers are ${shortList(known)}`;
  return malformed(`knows no server ${quoted(server)} with tools; ${others}`);
}

const MAX_NAMED = 30;

/** The names, the first MAX_NAMED of many. */
const shortList = (names: readonly string[]): string => {
  const rest = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
};

const quoted = (text: string): string => writeJson(text.slice(0, 100));
const malformed = (what: string): GatewayError => badRequest(`${FIND_TOOLS} ${what}`);
