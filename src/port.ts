/** What the edges see of the gateway: the config in effect at each moment, whichever that is. */
import { within } from "./catalog/within.js";
import { GatewayError } from "./core/errors.js";
import type { GatewayPort } from "./core/gateway-port.js";
import type { InEffect } from "./in-effect.js";
import type { InsideOptions } from "./inside.js";
import { followTasks } from "./routing/follow-tasks.js";

/**
 * How long (ms) `initialize` waits for the first attempt to reach the only server that a host sees. Some hosts give a server
 * 10 s to answer it; a server that starts more slowly is served as in any other view.
 */
const FIRST_ATTEMPT_MS = 5_000;

export function portOf(inEffect: InEffect, options: InsideOptions): GatewayPort {
  const handle: GatewayPort["handle"] = (call) => inEffect.inside.handle(call);
  const upstreams = () => [...inEffect.inside.servers.values()].map(({ upstream }) => upstream);
  return {
    handle,
    changes: inEffect.changes,
    async introduce(client) {
      const { catalog } = inEffect.inside;
      await catalog.prepare(client);
      return { ...catalog.introduce(client), instance: options.instance };
    },
    async requireServer(client) {
      const { catalog, servers } = inEffect.inside;
      const [only, second] = catalog.view(client).scope.spaces;
      const upstream = second === undefined && only ? servers.get(only.name)?.upstream : undefined;
      if (upstream === undefined || upstream.facts !== undefined) return;
      await within(upstream.seek?.() ?? Promise.resolve(), FIRST_ATTEMPT_MS);
      const { name, lastError } = upstream;
      if (upstream.facts !== undefined || lastError === undefined) return;
      throw new GatewayError("upstream_unavailable", "upstream", options.redact(lastError), {
        server: name,
        retryable: true,
      });
    },
    tool: (client, name) => inEffect.inside.catalog.tool(client, name),
    followTasks(client, handles, listener) {
      const { catalog, servers } = inEffect.inside;
      const upstream = (server: string) => servers.get(server)?.upstream;
      return followTasks({ ...options, catalog, upstream, handle }, client, handles, listener);
    },
    hasScope: (name, principal) => inEffect.inside.catalog.hasScope(name, principal),
    hear(client, notice) {
      const { catalog, servers } = inEffect.inside;
      for (const server of catalog.reachable(client, notice.method)) {
        servers.get(server)?.upstream.hear?.(client, notice);
      }
    },
    forget(affinity) {
      inEffect.inside.catalog.forget(affinity);
      for (const upstream of upstreams()) upstream.release(affinity);
    },
  };
}
