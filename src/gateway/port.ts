/** What the edges see of the gateway: the config in effect at each moment, whichever that is. */
import { GatewayError } from "../core/errors.js";
import type { GatewayApi } from "../core/gateway-api.js";
import { withTimeout } from "../core/timeouts.js";
import { followTasks } from "../routing/follow-tasks.js";
import type { LiveConfig } from "./live-config.js";
import type { PipelineOptions } from "./pipeline.js";

/**
 * How long (ms) `initialize` waits for the first attempt to reach the only server that a host sees. Some hosts give a server
 * 10 s to answer it; a server that starts more slowly is served as in any other view.
 */
const CONNECT_WAIT_MS = 5_000;

export function createGatewayApi(liveConfig: LiveConfig, options: PipelineOptions): GatewayApi {
  const handle: GatewayApi["handle"] = (call) => liveConfig.pipeline.handle(call);
  const upstreams = () => [...liveConfig.pipeline.servers.values()].map(({ upstream }) => upstream);
  return {
    handle,
    changes: liveConfig.changes,
    async describe(client) {
      const { catalog } = liveConfig.pipeline;
      await catalog.prepare(client);
      return { ...catalog.describe(client), instance: options.instance };
    },
    async requireServer(client) {
      const { catalog, servers } = liveConfig.pipeline;
      const [only, second] = catalog.view(client).endpoint.namespaces;
      const upstream = second === undefined && only ? servers.get(only.name)?.upstream : undefined;
      if (upstream === undefined || upstream.facts !== undefined) return;
      await withTimeout(CONNECT_WAIT_MS, upstream.connectNow?.() ?? Promise.resolve());
      const { name, lastError } = upstream;
      if (upstream.facts !== undefined || lastError === undefined) return;
      throw new GatewayError("upstream_unavailable", "upstream", options.redact(lastError), {
        server: name,
        retryable: true,
      });
    },
    tool: (client, name) => liveConfig.pipeline.catalog.toolEntry(client, name),
    followTasks(client, handles, listener) {
      const { catalog, servers } = liveConfig.pipeline;
      const upstream = (server: string) => servers.get(server)?.upstream;
      return followTasks({ ...options, catalog, upstream, handle }, client, handles, listener);
    },
    hasEndpoint: (name, principal) => liveConfig.pipeline.catalog.hasEndpoint(name, principal),
    forwardNotification(client, notice) {
      const { catalog, servers } = liveConfig.pipeline;
      for (const server of catalog.reachable(client, notice.method)) {
        servers.get(server)?.upstream.forwardNotification?.(client, notice);
      }
    },
    releaseClient(affinity) {
      liveConfig.pipeline.catalog.releaseClient(affinity);
      for (const upstream of upstreams()) upstream.releaseClient(affinity);
    },
  };
}
