/** How commands such as `cardea list`, `call` and `explain` use a gateway without a host. */
import { BadQuery } from "../admin/pages.js";
import { exposedPrefix } from "../catalog/naming.js";
import type { Reply } from "../core/call.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { Stop, type StopSignal } from "../core/stop.js";
import { CLI_CLIENT } from "../gateway/live-config.js";
import type { Pipeline } from "../gateway/pipeline.js";
import type { ServerRuntime } from "../gateway/server-runtime.js";
import { requiredServers } from "../gateway/status.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { type ExplainQuery, explainCall, type PrincipalQuery, supposedClient } from "./explain.js";

/** What the first start of a server came to. */
export interface ServerOutcome {
  readonly server: string;
  /** Whether it has listed. */
  readonly ok: boolean;
  /** The number of its tools. */
  readonly tools: number;
  /** Why it has not listed. */
  readonly error?: string;
}

/** Called with each server, as soon as its first start is over. */
export type OnServer = (outcome: ServerOutcome) => void;

/** The entries of one list, each with its server. */
export type CliList = readonly { readonly server: string; readonly item: JsonObject }[];

/** What a host sees, or one of the principal `as`, with the server of each entry, once the first start of each server is over. */
export async function cliLists(
  pipeline: Pipeline,
  kind: ListKind,
  as?: PrincipalQuery,
  onServer?: OnServer,
): Promise<CliList> {
  await awaitServers(pipeline, { onServer });
  const client = as === undefined ? CLI_CLIENT : supposedClient(as, pipeline.config.auth);
  if (as !== undefined) await pipeline.catalog.prepareLists(client, new Stop().signal);
  const { entries } = pipeline.catalog.view(client).list(kind);
  return entries.map(({ route, item }) => ({ server: route.upstream, item }));
}

/** `kind=…` of `GET /api/v1/lists`. @throws BadQuery */
export function readListKind(query: URLSearchParams): ListKind {
  const kind = LIST_KINDS.find((each) => each === query.get("kind"));
  if (kind === undefined) throw new BadQuery(`kind=… is one of ${LIST_KINDS.join(", ")}`);
  return kind;
}

/** Calls a tool by the name a host would use, as soon as its server has listed. */
export async function cliCall(
  pipeline: Pipeline,
  id: number,
  { name, args, onServer, signal = new Stop().signal }: CliCall,
): Promise<Reply> {
  await awaitOwner(pipeline, name, onServer);
  return pipeline.handle({
    id,
    method: "tools/call",
    params: { name, arguments: args },
    client: CLI_CLIENT,
    route: undefined,
    inputResponses: undefined,
    logLevel: undefined,
    extraHeaders: undefined,
    signal,
    notify: () => {},
    onActivity: undefined,
  });
}

/**
 * `POST /api/v1/calls` with `{ name, arguments }`: the reply as JSON, its numbers as the server wrote them.
 *
 * @throws BadQuery for a body that is something else
 */
export async function answerCallRequest(
  pipeline: Pipeline,
  id: number,
  body: string,
  signal: StopSignal,
): Promise<string> {
  let asked: unknown;
  try {
    asked = parseJson(body);
  } catch (cause) {
    throw new BadQuery("the body must be JSON", { cause });
  }
  const name = isObject(asked) ? stringAt(asked, "name") : undefined;
  const args = isObject(asked) ? (asked.arguments ?? {}) : undefined;
  if (name === undefined || !isObject(args)) throw new BadQuery("the body must be { name, arguments }");
  const reply = await cliCall(pipeline, id, { name, args, signal });
  switch (reply.kind) {
    case "result":
      return writeJson({ kind: reply.kind, result: reply.result.object });
    case "error":
      return writeJson({ kind: reply.kind, error: { ...reply.error } });
    case "input_required":
      return writeJson({ kind: reply.kind, requests: reply.requests });
  }
}

/** A call from the command line. */
interface CliCall {
  readonly name: string;
  readonly args: JsonObject;
  readonly onServer?: OnServer | undefined;
  /** Cancels the call. */
  readonly signal?: StopSignal;
}

/** Whether a call would be allowed, and by which rule. */
export async function cliExplain(
  pipeline: Pipeline,
  query: ExplainQuery,
  onServer?: OnServer,
): ReturnType<typeof explainCall> {
  await awaitOwner(pipeline, query.name, onServer);
  return explainCall(pipeline, query);
}

/** The servers whose first start is over, and that are not connected or could not list. */
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
  const ok = row?.state === "ready" && row.lastError === undefined;
  return { server, ok, tools: row?.counts.tools ?? 0, ...(!ok && { error }) };
}

interface ServersToAwait {
  /** Default: all. */
  readonly only?: ReadonlySet<string>;
  readonly onServer?: OnServer | undefined;
}

/**
 * Waits for the servers that the prefix of a name leads to, and for `required` ones; for all where none of them has it.
 * So a server that hangs delays no call of another server.
 */
async function awaitOwner(pipeline: Pipeline, name: string, onServer: OnServer | undefined): Promise<void> {
  const { servers, naming } = pipeline.config;
  const owners = servers.filter(
    ({ prefix, required }) => required || name.startsWith(exposedPrefix(prefix, naming)),
  );
  await awaitServers(pipeline, { only: new Set(owners.map((owner) => owner.name)), onServer });
  const view = pipeline.catalog.view(CLI_CLIENT);
  if (LIST_KINDS.some((kind) => view.find(kind, name) !== undefined)) return;
  await awaitServers(pipeline, { onServer });
}

/**
 * Waits until each server has listed or its first attempt has failed; its supervisor logs the failures.
 *
 * @throws GatewayError when a `required` server cannot be connected.
 */
async function awaitServers(
  { servers, catalog }: Pipeline,
  { only, onServer }: ServersToAwait,
): Promise<void> {
  const wanted = [...servers].filter(([name]) => only?.has(name) !== false);
  const requiredServerFailed = requiredServers(servers).then((error) => Promise.reject(error));
  const loading = wanted.map(async ([name, server]) => {
    await firstAttemptDone(server);
    if (server.upstream.state === "ready") await catalog.whenLoaded(name, CLI_CLIENT);
    onServer?.(outcomeOf(catalog, name));
  });
  await Promise.race([Promise.all(loading), requiredServerFailed]);
}

/** Resolves when the server is connected or, unless it is required, its first attempt has failed. */
function firstAttemptDone({ config, upstream }: ServerRuntime): Promise<void> {
  const failed = upstream.state !== "starting" && !config.required;
  if (upstream.state === "ready" || failed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      unwatch();
      resolve();
    };
    const unwatch = upstream.watch({
      ready: done,
      unavailable: () => !config.required && done(),
    });
  });
}
