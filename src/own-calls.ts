/** What the command line asks of the gateway without being a host: the lists it would show, a call, and why. */
import { nextCallId, type Reply } from "./core/call.js";
import { ANONYMOUS, type Client } from "./core/client.js";
import { Stop } from "./core/stop.js";
import type { ListKind } from "./core/upstream.js";
import { explainCall, type Supposed } from "./explain.js";
import type { Inside } from "./inside.js";
import { requiredServers } from "./readiness.js";
import type { Running } from "./running.js";
import type { JsonObject } from "./wire/json.js";

/** It can be asked nothing. */
export const COMMAND_LINE: Client = {
  principal: ANONYMOUS,
  affinity: "command line",
  session: false,
  scope: "",
  capabilities: {},
};

/** What a host sees, and from which server, once every server was heard or failed. */
export async function ownLists(
  inside: Inside,
  kind: ListKind,
): Promise<readonly { readonly server: string; readonly item: JsonObject }[]> {
  await heard(inside);
  const { entries } = inside.catalog.view(COMMAND_LINE).list(kind);
  return entries.map(({ route, item }) => ({ server: route.upstream, item }));
}

/** Calls a tool by the name a host would use. */
export async function ownCall(inside: Inside, name: string, args: JsonObject): Promise<Reply> {
  await heard(inside);
  return inside.handle({
    id: nextCallId(),
    method: "tools/call",
    params: { name, arguments: args },
    client: COMMAND_LINE,
    route: undefined,
    answers: undefined,
    logLevel: undefined,
    extraHeaders: undefined,
    signal: new Stop().signal,
    notify: () => {},
    alive: undefined,
  });
}

/** What would become of a call of somebody, and why. */
export async function ownExplanation(inside: Inside, supposed: Supposed): ReturnType<typeof explainCall> {
  await heard(inside);
  return explainCall(inside, supposed);
}

/**
 * Waits until each server was met or has failed once; which one is not there, and why, its supervisor tells.
 *
 * @throws GatewayError when a server that is `required` is not there.
 */
async function heard({ servers, catalog }: Inside): Promise<void> {
  const all = [...servers.values()];
  const lost = requiredServers(servers).then((error) => Promise.reject(error));
  await Promise.race([Promise.all(all.map(settled)), lost]);
  await catalog.prepare(COMMAND_LINE);
}

/** Resolves when the server was met; one that is not required is not waited for once its first attempt has failed. */
function settled({ config, upstream }: Running): Promise<void> {
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
      listChanged() {},
      resourceUpdated() {},
    });
  });
}
