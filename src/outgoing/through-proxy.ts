/** How does an agent of `node:http` reach one URL through the proxy of the environment? For packages that bring their own client. */
import type { Agent, ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as secure } from "node:tls";
import { portOf, proxyFor } from "./proxy.js";
import { openTunnel } from "./tunnel.js";

/** `agent`, whose connections to `url` go through the proxy that the environment names for it; unchanged without one. */
export function throughProxy<Made extends Agent>(agent: Made, url: string, timeoutMs: number): Made {
  const { protocol, hostname, port } = new URL(url);
  const target = { hostname, port: portOf(protocol, port) };
  if (proxyFor(url) === undefined) return agent;
  const createConnection = (
    options: ClientRequestArgs,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined => {
    const opening = (async () => {
      const proxy = proxyFor(url);
      if (proxy === undefined) throw new Error("the proxy is no longer in the environment");
      const socket = await openTunnel(proxy, target, timeoutMs);
      return protocol === "https:" ? secure({ ...(options as ConnectionOptions), socket }) : socket;
    })();
    opening.then(
      (socket) => done?.(null, socket),
      (error: unknown) => done?.(error as Error, undefined as unknown as Duplex),
    );
  };
  return Object.assign(agent, { createConnection });
}
