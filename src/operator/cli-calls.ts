/** How commands such as `cardea list`, `call` and `explain` use a gateway without a host. */
import type { Reply } from "../core/call.js";
import type { ListKind } from "../core/lists.js";
import { Stop } from "../core/stop.js";
import { CLI_CLIENT } from "../gateway/live-config.js";
import type { Pipeline } from "../gateway/pipeline.js";
import type { ServerRuntime } from "../gateway/server-runtime.js";
import { requiredServers } from "../gateway/status.js";
import type { JsonObject } from "../wire/json.js";
import { type ExplainQuery, explainCall, type PrincipalQuery, supposedClient } from "./explain.js";

/** What a host sees, or one of the principal `as`, with the server of each entry, once every server is connected or its first attempt failed. */
export async function cliLists(
  pipeline: Pipeline,
  kind: ListKind,
  as?: PrincipalQuery,
): Promise<readonly { readonly server: string; readonly item: JsonObject }[]> {
  await awaitServers(pipeline);
  const client = as === undefined ? CLI_CLIENT : supposedClient(as, pipeline.config.auth);
  if (as !== undefined) await pipeline.catalog.prepare(client);
  const { entries } = pipeline.catalog.view(client).list(kind);
  return entries.map(({ route, item }) => ({ server: route.upstream, item }));
}

/** Calls a tool by the name a host would use. */
export async function cliCall(
  pipeline: Pipeline,
  id: number,
  name: string,
  args: JsonObject,
): Promise<Reply> {
  await awaitServers(pipeline);
  return pipeline.handle({
    id,
    method: "tools/call",
    params: { name, arguments: args },
    client: CLI_CLIENT,
    route: undefined,
    inputResponses: undefined,
    logLevel: undefined,
    extraHeaders: undefined,
    signal: new Stop().signal,
    notify: () => {},
    onActivity: undefined,
  });
}

/** Whether a call would be allowed, and by which rule. */
export async function cliExplain(pipeline: Pipeline, query: ExplainQuery): ReturnType<typeof explainCall> {
  await awaitServers(pipeline);
  return explainCall(pipeline, query);
}

/**
 * Waits until each server is connected or has failed once; its supervisor logs the failures.
 *
 * @throws GatewayError when a `required` server cannot be connected.
 */
async function awaitServers({ servers, catalog }: Pipeline): Promise<void> {
  const all = [...servers.values()];
  const requiredServerFailed = requiredServers(servers).then((error) => Promise.reject(error));
  await Promise.race([Promise.all(all.map(firstAttemptDone)), requiredServerFailed]);
  await catalog.prepare(CLI_CLIENT);
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
