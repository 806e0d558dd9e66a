/** How does a call reach the server that owns its target, under the server's own names? Lists are answered from the catalog. */

import type { Catalog } from "../catalog/catalog.js";
import { type Cursor, readCursor } from "../catalog/pagination.js";
import {
  type Call,
  type Handler,
  type Middleware,
  methodRoute,
  type Notice,
  type Reply,
  type Route,
} from "../core/call.js";
import { cursorIn, invalidParams } from "../core/check-params.js";
import {
  ambiguousTarget,
  cancelledWhileStarting,
  GatewayError,
  signInRequired,
  unknownMethod,
  unknownTarget,
} from "../core/errors.js";
import { LIST_METHODS, type ListKind } from "../core/lists.js";
import { retarget, TARGETED_METHODS, TASK_METHODS, targetOf } from "../core/methods.js";
import { supportsTaskCalls, supportsTasks } from "../core/tasks.js";
import { runSteps } from "../runtime/cooperative-yield.js";
import { type JsonObject, numberOf, objectAt, stringAt, without } from "../wire/json.js";
import { Payload } from "../wire/payload.js";
import { SKILL_METHODS, skills } from "./extensions.js";
import { type IsHidden, withoutHiddenLinks } from "./hidden-links.js";
import { hasNoTarget, type MethodRoutes } from "./method-routes.js";
import {
  RenamingCache,
  renameNotice,
  renameReply,
  renameTaskNotice,
  renameTasks,
  type TaskMap,
} from "./rename-results.js";
import { type Tasks, taskCalls } from "./tasks.js";

/** What the router reads and calls. */
export interface RouterOptions {
  readonly catalog: Pick<
    Catalog,
    | "view"
    | "prepare"
    | "prepareLists"
    | "latest"
    | "freshness"
    | "capabilities"
    | "learnUri"
    | "recordAppPage"
    | "status"
    | "serversFor"
    | "wantsSignIn"
    | "reachable"
    | "unlistedOwner"
  >;
  /** The stack of each server, by its key in the config. */
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly tasks: Pick<Tasks, "find" | "expose" | "handleInList" | "report" | "serversOf">;
  readonly methods: Pick<MethodRoutes, "find" | "ownParams">;
  /** Rules and limits that the request to each server of a merged list passes. Default: none. */
  readonly listPolicy?: Middleware;
  /** The error for a call to a server that has listed nothing, as it needs a sign-in. Default: one without a page. */
  readonly signInError?: (server: string, call: Call) => Promise<GatewayError>;
  /** The router of the config in effect, for a list during whose wait the config was replaced. Default: this one. */
  readonly inEffect?: Handler;
}

/** The result for a server without completions (2026-07-28: server/utilities/completion). */
const NO_COMPLETIONS: Reply = {
  kind: "result",
  result: Payload.ofObject({ completion: { values: [] } }),
};

/**
 * The innermost handler of the call stack; `locate` has set the route.
 *
 * @throws GatewayError where no server has the target or serves the method.
 */
export function router(options: RouterOptions): Handler {
  const { catalog, handlers, tasks, methods, listPolicy, inEffect, signInError } = options;
  const lists = listHandler(catalog);
  const send = sender({ catalog, handlers, tasks });
  const sendEach = listPolicy === undefined ? send : sendThroughPolicy(send, listPolicy);
  const ofTasks = taskCalls({ catalog, tasks, send, sendEach });
  const ofSkills = skills({ catalog, sendEach, inEffect });

  function sendTo(route: Route, call: Call): Promise<Reply> {
    const { method, params } = call;
    const { upstream, target, kind } = route;
    const own = kind === "methods" ? methods.ownParams(route, params) : retarget(method, params, target);
    const sent = send(upstream, call, own);
    if (method !== "resources/read" || !/^ui:/i.test(target)) return sent;
    return sent.then((reply) => {
      if (reply.kind === "result") catalog.recordAppPage(call.client, upstream);
      return reply;
    });
  }

  async function refuseTarget(call: Call): Promise<GatewayError> {
    if (call.signal.aborted) return cancelledWhileStarting(call.method, call.signal.reason);
    const target = targetOf(call.method, call.params);
    if (target === undefined) {
      const message = `${call.method} has no unique target: its params need ${TARGETED_METHODS.get(call.method)?.needs}`;
      return invalidParams(message);
    }
    const view = catalog.view(call.client);
    const absent = catalog.unlistedOwner(call.client, target.kind, target.name);
    if (absent !== undefined) return unavailable(absent, call);
    const owners = view.list(target.kind).entries.filter(({ route }) => route.exposed === target.name);
    return owners.length > 1
      ? ambiguousTarget(target.kind, target.name, [...new Set(owners.map(({ route }) => route.upstream))])
      : unknownTarget(target.kind, target.name);
  }

  /** The error for a server whose lists are not known: "unknown" would suggest a misspelt name. */
  async function unavailable(server: string, call: Call): Promise<GatewayError> {
    if (catalog.wantsSignIn(call.client, server))
      return (await signInError?.(server, call)) ?? signInRequired(server);
    const { state, lastError: why } = catalog.status().find(({ name }) => name === server) ?? {};
    const condition = catalog.serversFor(call.client).find(({ name }) => name === server)?.condition;
    const action = condition?.action === undefined ? "" : `. ${condition.action}`;
    // Only the operator can fix the config.
    if (state === "misconfigured" && why !== undefined)
      return new GatewayError("upstream_unavailable", "gateway", `${why}${action}`, {
        server,
        retryable: false,
      });
    const isOpen = state === "ready" || state === "idle";
    const what = isOpen ? "has not listed for this host yet" : "is not available";
    const message = `server ${server} ${what}${why === undefined ? "" : `: ${why}`}${action}`;
    return new GatewayError("upstream_unavailable", "upstream", message, { server, retryable: true });
  }

  return function router(call) {
    const { method, route } = call;
    // The hot path.
    if (route !== undefined && method === "tools/call") return sendTo(route, call);
    return routed(call);
  };

  async function routed(call: Call): Promise<Reply> {
    const { method, route } = call;
    if (LIST_METHODS.has(method)) return lists(call);
    if (TASK_METHODS.has(method)) return ofTasks.request(call);
    if (method === "tasks/list") return ofTasks.list(call);
    if (method === "skills/list") return ofSkills.list(call);
    if (SKILL_METHODS.has(method)) ofSkills.require(call);
    if (route !== undefined) {
      if (method !== "completion/complete") return sendTo(route, call);
      const offered = supportsCompletions(catalog.capabilities(route.upstream, call.client));
      return offered ? truncateCompletions(await sendTo(route, call)) : NO_COMPLETIONS;
    }
    if (TARGETED_METHODS.has(method)) throw await refuseTarget(call);
    const found = hasNoTarget(method) ? methods.find(call) : undefined;
    throw found instanceof GatewayError ? found : unknownMethod(method);
  }
}

/** Sends the request of each server of a merged list through `policy`, as a call of its own. */
function sendThroughPolicy(send: Send, policy: Middleware): Send {
  const handle = policy((call) => send(call.route?.upstream ?? "", call, call.params));
  return (server, call, params) =>
    handle({ ...call, params, route: methodRoute(server, call.method), inputResponses: undefined });
}

/** A server that was never connected may have completions. */
const supportsCompletions = (capabilities: JsonObject | undefined): boolean =>
  capabilities === undefined || capabilities.completions !== undefined;

/** "Maximum 100 items per response" (server/utilities/completion), in every revision; SDK hosts refuse a result with more. */
const MAX_VALUES = 100;

/**
 * The same reply with at most MAX_VALUES values, the most relevant ones. Where values are cut, `hasMore` is
 * true, and `total` is that of the server, or the number of its values where it said that there are no
 * others.
 */
function truncateCompletions(reply: Reply): Reply {
  if (reply.kind !== "result") return reply;
  const completion = objectAt(reply.result.object, "completion");
  const values: unknown = completion?.values;
  if (completion === undefined || !Array.isArray(values) || values.length <= MAX_VALUES) return reply;
  const { total, ...others } = completion;
  const said = (numberOf(total) ?? 0) >= values.length ? total : undefined;
  const known = said ?? (completion.hasMore === true ? undefined : values.length);
  const cut = {
    ...others,
    values: values.slice(0, MAX_VALUES),
    ...(known !== undefined && { total: known }),
    hasMore: true,
  };
  return { ...reply, result: Payload.ofObject({ ...reply.result.object, completion: cut }) };
}

/** What a sender reads and calls. */
interface SenderOptions {
  readonly catalog: Pick<Catalog, "view" | "capabilities" | "learnUri">;
  /** The stack of each server, by its key in the config. */
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly tasks: Pick<Tasks, "expose">;
}

/**
 * Runs a call at `server` with `params`, which carry the server's own names.
 *
 * @throws GatewayError when the server is no longer configured, or what its stack throws.
 */
export type Send = (server: string, call: Call, params: JsonObject) => Promise<Reply>;

/** A `Send` over the stacks of the servers. */
function sender({ catalog, handlers, tasks }: SenderOptions): Send {
  const renamings = new RenamingCache(catalog);

  return function send(server, call, params) {
    const handler = handlers.get(server);
    if (handler === undefined) return Promise.reject(serverGone(server));
    const renaming = renamings.of(call.client, server);
    const ofTasks = call.method === "tools/call" || TASK_METHODS.has(call.method);
    const capabilities = ofTasks ? catalog.capabilities(server, call.client) : undefined;
    const task = supportsTasks(capabilities) ? taskMap(call, server) : undefined;
    // The `task` member goes only to servers that run calls as tasks: another server of the view advertised
    // them.
    const wishes = ofTasks && Object.hasOwn(params, "task");
    const own = wishes && !supportsTaskCalls(capabilities) ? without(params, ["task"]) : params;
    if (renaming === undefined && task === undefined) return handler({ ...call, params: own });
    const isHidden = renaming?.isHidden;
    const notify = (notice: Notice): void => {
      if (isHidden !== undefined && isAboutHidden(notice, isHidden)) return;
      const named = renaming === undefined ? notice : renameNotice(notice, renaming);
      call.notify(task === undefined ? named : renameTaskNotice(named, task));
    };
    const rename = (reply: Reply): Reply => {
      const named = renaming === undefined ? reply : renameReply(call.method, reply, renaming);
      return task === undefined ? named : renameTasks({ method: call.method, params: own }, named, task);
    };
    const replied = handler({ ...call, params: own, notify });
    return isHidden === undefined
      ? replied.then(rename)
      : replied.then((reply) => withoutHiddenLinks(reply, isHidden)).then(rename);
  };

  function taskMap({ client, route }: Call, server: string): TaskMap {
    return (id, state) => tasks.expose(client, { server, id, tool: route?.target ?? "" }, state);
  }
}

/** A notification about a resource that the client may not see. */
const isAboutHidden = ({ method, params }: Notice, isHidden: IsHidden): boolean =>
  method === "notifications/resources/updated" && isHidden(stringAt(params, "uri") ?? "");

const serverGone = (server: string): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `server ${server} was removed from the config`, {
    server,
  });

/** @throws GatewayError with -32602 for a cursor that this gateway did not write. */
export function listHandler(catalog: Pick<Catalog, "prepareLists" | "latest">): Handler {
  return async function answerLists(call) {
    const kind = LIST_METHODS.get(call.method);
    if (kind === undefined) throw new TypeError(`${call.method} is not a list`);
    const cursor = cursorOf(kind, call.params);
    await catalog.prepareLists(call.client, call.signal);
    if (call.signal.aborted) throw cancelledWhileStarting(call.method, call.signal.reason);
    const { latest } = catalog;
    const listed = latest.listed(call.client, kind);
    if (listed.isLong) await runSteps(listed.prepare());
    return {
      kind: "result",
      result: listed.page(cursor),
      freshness: latest.freshness(call.client, kind),
    };
  };
}

const cursorOf = (kind: ListKind, params: JsonObject): Cursor | undefined =>
  cursorIn(params, (text) => {
    const cursor = readCursor(text);
    return cursor?.kind === kind ? cursor : undefined;
  });
