/** Hands each call to the server that owns its target, under the server's own name for it. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Reply, Route } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import type { Handler, Middleware } from "../core/handler.js";
import { LIST_METHODS } from "../core/lists.js";
import { methodRoute, retarget, TARGETED_METHODS, targetOf } from "../core/methods.js";
import { ambiguousTarget, unknownMethod, unknownTarget } from "../core/refusal.js";
import { TASK_METHODS } from "../core/tasks.js";
import type { JsonObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";
import { Payload } from "../wire/payload.js";
import { truncateCompletions } from "./completions.js";
import { listHandler } from "./list-handler.js";
import { hasNoTarget, type MethodRoutes } from "./method-routes.js";
import { type Send, sender } from "./send.js";
import { SKILL_METHODS, skills } from "./skills.js";
import { taskCalls } from "./task-calls.js";
import type { Tasks } from "./tasks.js";

export interface RouterOptions {
  readonly catalog: Pick<
    Catalog,
    "view" | "prepare" | "freshness" | "capabilities" | "learnUri" | "recordAppPage" | "status" | "reachable"
  >;
  /** The stack of each server, by its key in the config. */
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly tasks: Pick<Tasks, "find" | "expose" | "handleInList" | "serversOf">;
  readonly methods: Pick<MethodRoutes, "find" | "ownParams">;
  /** What a call for one list of several servers goes through at each of them: rules and limits. Default: nothing. */
  readonly listPolicy?: Middleware;
}

/** What a server without completions would say if it had them (2026-07-28: server/utilities/completion). */
const NO_COMPLETIONS: Reply = {
  kind: "result",
  result: Payload.ofObject({ completion: { values: [] } }),
};

/**
 * The inmost handler of the front stack; `locate` stands further out and has found the route.
 *
 * @throws GatewayError where nobody owns the target or serves the method.
 */
export function router({ catalog, handlers, tasks, methods, listPolicy }: RouterOptions): Handler {
  const lists = listHandler(catalog);
  const send = sender({ catalog, handlers, tasks });
  const sendEach = listPolicy === undefined ? send : sendThroughPolicy(send, listPolicy);
  const ofTasks = taskCalls({ catalog, tasks, send, sendEach });
  const ofSkills = skills({ catalog, sendEach });

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

  function refuseTarget(call: Call): GatewayError {
    const target = targetOf(call.method, call.params);
    if (target === undefined) {
      const message = `${call.method} does not say what it is about: its params need ${TARGETED_METHODS[call.method]?.needs}`;
      return new GatewayError("bad_request", "downstream", message, { rpc: CODE.invalidParams });
    }
    const view = catalog.view(call.client);
    const absent = view.unavailableOwner(target.kind, target.name);
    if (absent !== undefined) return unavailable(absent);
    const owners = view.list(target.kind).entries.filter(({ route }) => route.exposed === target.name);
    return owners.length > 1
      ? ambiguousTarget(target.kind, target.name, [...new Set(owners.map(({ route }) => route.upstream))])
      : unknownTarget(target.kind, target.name);
  }

  /** Nobody knows whether it has what was asked for, and "unknown" would send people looking for a misspelt name. */
  function unavailable(server: string): GatewayError {
    const why = catalog.status().find(({ name }) => name === server)?.lastError;
    const message = `server ${server} is not available${why === undefined ? "" : `: ${why}`}`;
    return new GatewayError("upstream_unavailable", "upstream", message, { server, retryable: true });
  }

  return function router(call) {
    const { method, route } = call;
    // The way of nearly every call.
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
    if (Object.hasOwn(TARGETED_METHODS, method)) throw refuseTarget(call);
    const found = hasNoTarget(method) ? methods.find(call) : undefined;
    throw found instanceof GatewayError ? found : unknownMethod(method);
  }
}

/** Each server that is asked for its part of a list is asked by a call of its own, which is judged like any other. */
function sendThroughPolicy(send: Send, judged: Middleware): Send {
  const handle = judged((call) => send(call.route?.upstream ?? "", call, call.params));
  return (server, call, params) =>
    handle({ ...call, params, route: methodRoute(server, call.method), inputResponses: undefined });
}

/** A server that was never met may have completions; whether it does, it will say itself. */
const supportsCompletions = (capabilities: JsonObject | undefined): boolean =>
  capabilities === undefined || capabilities.completions !== undefined;
