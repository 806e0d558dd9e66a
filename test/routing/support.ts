/** The front of the gateway as far as routing goes: find the target, then hand the call on. */
import { createSecretKey } from "node:crypto";
import type { Catalog } from "../../src/catalog/catalog.js";
import { type Call, compose, type Handler, type Reply } from "../../src/core/call.js";
import { SILENT } from "../../src/core/logger.js";
import { errorBoundary } from "../../src/resilience/error-boundary.js";
import { locate } from "../../src/routing/locate.js";
import { MethodRoutes } from "../../src/routing/method-routes.js";
import { router } from "../../src/routing/router.js";
import { Tasks } from "../../src/routing/tasks.js";
import type { JsonObject } from "../../src/wire/json.js";
import { type CatalogUnderTest, catalogOf } from "../catalog/support.js";
import type { FakeUpstream } from "../support/fake-upstream.js";

export interface Front {
  readonly catalog: Catalog;
  readonly handle: Handler;
  readonly tasks: Tasks;
}

/** `inEffect`: the front of the config that has replaced this one. */
export function frontOf(
  upstreams: readonly FakeUpstream[],
  options: CatalogUnderTest = {},
  inEffect?: () => Front,
): Front {
  const catalog = catalogOf(upstreams, options);
  const handlers = new Map(upstreams.map(({ name, call }): [string, Handler] => [name, call]));
  const tasks = new Tasks(createSecretKey(Buffer.alloc(32, "tasks")));
  const methods = new MethodRoutes(catalog, tasks);
  const later = inEffect !== undefined && { inEffect: (call: Call) => inEffect().handle(call) };
  const front = [locate(catalog, tasks, methods), errorBoundary(SILENT)];
  const handle = compose(front, router({ catalog, handlers, tasks, methods, ...later }));
  return { catalog, handle, tasks };
}

/** The last call that reached a server, as far as routing may have changed it. */
export function received({ calls }: FakeUpstream): Pick<Call, "method" | "params"> | undefined {
  const last = calls.at(-1);
  return last === undefined ? undefined : { method: last.method, params: last.params };
}

export function resultOf(reply: Reply): JsonObject {
  if (reply.kind !== "result") throw new Error(`expected a result, got ${JSON.stringify(reply)}`);
  return reply.result.object;
}

export function errorOf(reply: Reply) {
  if (reply.kind !== "error") throw new Error(`expected an error, got ${JSON.stringify(reply)}`);
  return reply.error;
}
