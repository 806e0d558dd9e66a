/** Calls of commands such as `cardea list`, `call` and `explain`, which use a gateway without a host. */

import { exposedPrefix } from "../../catalog/naming.js";
import type { Config, ConfiguredServer } from "../../config/config.js";
import { type AdminPage, BadQuery } from "../../core/admin-page.js";
import type { Reply } from "../../core/call.js";
import type { CallOutlook } from "../../core/call-policy.js";
import { callNotes } from "../../core/call-record.js";
import { invalidParams } from "../../core/check-params.js";
import type { Client, Principal } from "../../core/client.js";
import { refusalError } from "../../core/errors.js";
import { LIST_KINDS, type ListKind } from "../../core/lists.js";
import { principalKey } from "../../core/principal.js";
import { awaitWithin, Stop, type StopSignal } from "../../core/stop.js";
import { prototypeMemberSentence } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { prototypeMembers } from "../../wire/prototype-members.js";
import { CLI_CLIENT } from "../live-config.js";
import type { Pipeline } from "../pipeline.js";
import type { ServerRuntime } from "../server-runtime.js";
import { requiredServers } from "../status.js";
import {
  type ExplainQuery,
  explainCall,
  knownPrincipal,
  knowsGroups,
  type PrincipalQuery,
  supposedClient,
} from "./explain.js";

/** The outcome of a server's first start. */
export interface ServerOutcome {
  readonly server: string;
  /** Whether its lists are loaded. */
  readonly ok: boolean;
  /** The number of its tools. */
  readonly tools: number;
  /** Why they are not. */
  readonly error?: string;
}

/** Called with each server as soon as its first start is over. */
export type OnServer = (outcome: ServerOutcome) => void;

/** The pipeline of the live config; it may change during each wait. */
type PipelineInEffect = () => Pipeline;

/** How a command waits for starting servers. */
interface CliWait {
  readonly onServer?: OnServer | undefined;
  /** Cancels the wait. */
  readonly signal?: StopSignal | undefined;
}

/** The entries of one list, each with its server. */
export type CliList = readonly CliListEntry[];

interface CliListEntry {
  readonly server: string;
  readonly item: JsonObject;
  /** Of a tool whose calls are not all allowed; absent too while the groups of the principal are not known. */
  readonly calls?: CallOutlook;
}

/** No `/mcp/NAME` with the name in the query. */
export class UnknownEndpoint extends BadQuery {}

/** The principal and URL of a list. */
export interface ListQuery {
  /** The principal of the host. Default: a host without credentials. */
  readonly as?: PrincipalQuery | undefined;
  /** The NAME of the host's URL `/mcp/NAME`. Default: the gateway as a whole. */
  readonly at?: string | undefined;
  /** Also the tools that hosts find by search only. Default: what hosts list. */
  readonly all?: boolean | undefined;
  /** What the host declares; some servers list tools that ask only where they may. Default: nothing. */
  readonly capabilities?: JsonObject | undefined;
}

/**
 * What a host lists, with the server of each entry ("" for the gateway's own tools), after the first start of each
 * server.
 *
 * @throws UnknownEndpoint if this principal has no URL of that name
 */
export async function cliLists(
  pipeline: PipelineInEffect,
  kind: ListKind,
  { as, at = "", all = false, capabilities, ...wait }: CliWait & ListQuery = {},
): Promise<CliList> {
  await awaitServers(pipeline, wait);
  const { catalog, config } = pipeline();
  const known =
    as === undefined
      ? CLI_CLIENT
      : supposedClient(as, config.auth, knownPrincipal(as, pipeline())?.principal);
  const caller =
    capabilities === undefined
      ? known
      : { ...known, capabilities, affinity: `${known.affinity} with ${writeJson(capabilities)}` };
  if (!catalog.hasEndpoint(at, caller.principal)) {
    throw new UnknownEndpoint(`there is no server or profile ${writeJson(at)} for ${caller.principal.id}`);
  }
  const client =
    at === "" ? caller : { ...caller, endpoint: at, affinity: `${caller.affinity} at ${writeJson(at)}` };
  if (client !== CLI_CLIENT) await catalog.prepareLists(client, wait.signal ?? new Stop().signal);
  const { catalog: inEffect, policy } = pipeline();
  const { latest } = inEffect;
  const { entries } = all ? latest.view(client).list(kind) : latest.listed(client, kind);
  const isMarked = kind === "tools" && (as === undefined || knowsGroups(as, pipeline()));
  return entries.map(({ route, item }) => {
    const outlook = isMarked ? policy.outlook(client, route) : undefined;
    const isNoted = outlook !== undefined && outlook.effect !== "allow";
    return { server: route.upstream, item, ...(isNoted && { calls: outlook }) };
  });
}

/** What each server lists under its own names, by server. */
export type OwnLists = ReadonlyMap<string, Readonly<Record<ListKind, readonly JsonObject[]>>>;

/** After the first start of each server; a server whose lists are unknown is missing. Starts no server on demand. */
export async function ownLists(pipeline: PipelineInEffect, signal: StopSignal): Promise<OwnLists> {
  await awaitServers(pipeline, { signal });
  const { catalog, servers } = pipeline();
  return new Map(
    [...servers.keys()].flatMap((name) => {
      const entries = catalog.ownEntries(name);
      return entries === undefined ? [] : [[name, entries] as const];
    }),
  );
}

/** A page for a command, and when it waits for servers, which of them it waits for. */
interface CliPage extends CliWait {
  /** After `/api/v1/`. */
  readonly path: string;
  readonly query?: URLSearchParams | undefined;
}

/** What one of the pages answers. @throws RangeError without such a page; BadQuery */
export async function cliPage(
  pipeline: PipelineInEffect,
  pages: readonly AdminPage[],
  { path, query = new URLSearchParams(), signal = new Stop().signal, onServer }: CliPage,
): Promise<unknown> {
  const page = pages.find((each) => each.path === path);
  if (page === undefined) throw new RangeError(`no feature has a page ${path}`);
  if (page.waits === true) await awaitServers(pipeline, { onServer, signal });
  return page.handler(query, signal);
}

/** Calls a tool by the name a host would use, as soon as its server has loaded its lists. */
export async function cliCall(
  pipeline: PipelineInEffect,
  id: number,
  { name, args, onServer, as, principal, signal = new Stop().signal }: CliCall,
): Promise<Reply> {
  const [member] = prototypeMembers(writeJson({ arguments: args }));
  if (member !== undefined) {
    const error = refusalError(invalidParams(prototypeMemberSentence(member)));
    return { kind: "error", error, refusal: "bad_request" };
  }
  await awaitOwner(pipeline, name, { onServer, signal });
  const client = as === undefined ? clientOf(principal) : supposedClient(as, pipeline().config.auth);
  return pipeline().handle({
    id,
    method: "tools/call",
    params: { name, arguments: args },
    client,
    route: undefined,
    inputResponses: undefined,
    logLevel: undefined,
    extraHeaders: undefined,
    signal,
    notify: () => {},
    onActivity: undefined,
    via: undefined,
    record: callNotes(),
  });
}

/** A person who calls over the admin API; or a host without credentials. */
const clientOf = (principal: Principal | undefined): Client =>
  principal === undefined
    ? CLI_CLIENT
    : { ...CLI_CLIENT, principal, affinity: `admin ${principalKey(principal)}` };

/** A call from the command line. */
interface CliCall {
  readonly name: string;
  readonly args: JsonObject;
  readonly onServer?: OnServer | undefined;
  /** The principal. Default: a host without credentials. */
  readonly as?: PrincipalQuery | undefined;
  /** The same, where it is known already. */
  readonly principal?: Principal | undefined;
  /** Cancels the call. */
  readonly signal?: StopSignal;
}

/** Whether a call would be allowed, and by which rule. */
export async function cliExplain(
  pipeline: PipelineInEffect,
  query: ExplainQuery,
  wait: CliWait = {},
): ReturnType<typeof explainCall> {
  await awaitOwner(pipeline, query.name, wait);
  return explainCall(pipeline(), query);
}

/** The servers that have finished their first start and are not connected or could not list. */
export function missingServers({ servers, catalog }: Pipeline): readonly ServerOutcome[] {
  const starting = new Set(catalog.starting());
  return [...servers.keys()].flatMap((name) => {
    if (starting.has(name)) return [];
    const outcome = outcomeOf(catalog, name);
    return outcome.ok ? [] : [outcome];
  });
}

function outcomeOf(catalog: Pipeline["catalog"], server: string): ServerOutcome {
  const row = catalog.status().find(({ name }) => name === server);
  const error = row?.lastError ?? "it has not listed";
  const ok = (row?.state === "ready" || row?.state === "idle") && row.lastError === undefined;
  return { server, ok, tools: row?.counts.tools ?? 0, ...(!ok && { error }) };
}

interface ServersToAwait extends CliWait {
  /** Default: all. */
  readonly only?: (server: ConfiguredServer, config: Config) => boolean;
}

/**
 * Waits for the servers that match the prefix of a name, and for `required` ones; for all if none matches. So a hanging
 * server delays no call of another server.
 */
async function awaitOwner(pipeline: PipelineInEffect, name: string, wait: CliWait): Promise<void> {
  const only: ServersToAwait["only"] = ({ prefix, required }, { naming }) =>
    required || name.startsWith(exposedPrefix(prefix, naming));
  await awaitServers(pipeline, { ...wait, only });
  const view = pipeline().catalog.view(CLI_CLIENT);
  if (LIST_KINDS.some((kind) => view.find(kind, name) !== undefined)) return;
  await awaitServers(pipeline, wait);
}

/**
 * Additional wait (ms) beyond the longest `connectTimeout`, for sequential process starts, for listing, and for further
 * attempts of a `required` server.
 */
const MARGIN_MS = 60_000;

/**
 * Waits until each server has listed or its first attempt has failed; its supervisor logs the failures. If the config
 * is replaced, waits for the servers of the new one.
 *
 * @throws GatewayError if a `required` server cannot be connected
 */
async function awaitServers(inEffect: PipelineInEffect, wait: ServersToAwait): Promise<void> {
  let pipeline: Pipeline;
  do {
    pipeline = inEffect();
    await awaitServersOf(pipeline, wait);
  } while (pipeline !== inEffect() && wait.signal?.aborted !== true);
}

async function awaitServersOf(
  { config, servers, catalog }: Pipeline,
  { only = () => true, onServer, signal }: ServersToAwait,
): Promise<void> {
  const stop = new Stop();
  const end = (): void => stop.abort();
  const limitMs = MARGIN_MS + Math.max(config.startupWaitMs, ...config.servers.map(connectTimeoutOf));
  const timer = setTimeout(end, limitMs);
  const ends = [catalog.closed, ...(signal === undefined ? [] : [signal])];
  for (const each of ends) each.addEventListener("abort", end, { once: true });
  if (ends.some(({ aborted }) => aborted)) end();
  const wanted = [...servers].filter(([, server]) => only(server.config, config));
  const requiredServerFailed = requiredServers(servers, stop.signal).then((error) => Promise.reject(error));
  const loading = wanted.map(async ([name, server]) => {
    await firstAttemptDone(server, stop.signal);
    if (server.upstream.state === "ready") {
      await awaitWithin(limitMs, catalog.whenLoaded(name, CLI_CLIENT), stop.signal);
    }
    if (!stop.aborted) onServer?.(outcomeOf(catalog, name));
  });
  try {
    await Promise.race([Promise.all(loading), requiredServerFailed]);
  } finally {
    clearTimeout(timer);
    for (const each of ends) each.removeEventListener("abort", end);
    end();
  }
}

const connectTimeoutOf = ({ connectTimeoutMs, firstConnectTimeoutMs }: ConfiguredServer): number =>
  firstConnectTimeoutMs ?? connectTimeoutMs;

/**
 * Resolves when the server is or was connected, is stopped, or (unless required) its first attempt has failed; and when
 * `signal` aborts.
 */
function firstAttemptDone({ config, upstream }: ServerRuntime, signal: StopSignal): Promise<void> {
  const { state, wasConnected } = upstream;
  const failed = state !== "starting" && !config.required;
  if (wasConnected || state === "stopped" || failed || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      unwatch();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const unwatch = upstream.watch({
      ready: done,
      unavailable: () => !config.required && done(),
    });
    signal.addEventListener("abort", done, { once: true });
  });
}
