/**
 * The one way out: connections for all requests that the gateway sends (to servers, APIs, authorization servers, for
 * documents and keys). They go directly or through a proxy, with the TLS settings of their server.
 */
import type { LookupFunction, OnReadOpts, Socket } from "node:net";
import type { Agent, buildConnector } from "undici";
import { withTimeout } from "../core/stop.js";
import { undici } from "../runtime/undici.js";
import type { Network } from "./network.js";
import { portOf, proxyFor } from "./proxy.js";
import { openTunnel } from "./tunnel.js";

/** Where connections go, and their limits. */
export interface ConnectorOptions {
  readonly network?: Network | undefined;
  /** For the tunnel of a proxy; and for the TCP and the TLS handshake together; in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Resolves the name for each direct connection, and may refuse it. Through a proxy, which resolves the name itself, a
   * refusal holds as well, and a name that is not known here does not matter. Default: the resolver of the system.
   */
  readonly lookup?: LookupFunction | undefined;
  /** How direct connections are read. Default: by Node. */
  readonly onread?: OnReadOpts;
  /** Called when a connection is open, before it is used. */
  readonly onConnect?: () => void;
}

/** How long (ms) a lookup that only guards may take. */
const GUARD_MS = 2_000;

/** The connector for undici's clients and agents. */
export function outgoingConnector(options: ConnectorOptions): buildConnector.connector {
  const { network = {}, timeoutMs, lookup, onread, onConnect } = options;
  const { serverName, ...pem } = network.tls ?? {};
  const shared = { timeout: timeoutMs, keepAliveInitialDelay: KEEP_ALIVE_MS, ...pem };
  const { buildConnector } = undici();
  const direct = buildConnector({
    ...shared,
    ...(onread !== undefined && { onread }),
    ...(lookup !== undefined && { lookup }),
  } as buildConnector.BuildOptions);
  const tunnelled = buildConnector(shared as buildConnector.BuildOptions);
  return function connect(given, callback) {
    const done: buildConnector.Callback = (...outcome) => {
      if (outcome[0] === null) {
        onConnect?.();
        if (given.protocol === "https:") endWithAlert(outcome[1]);
      }
      callback(...outcome);
    };
    const target = serverName === undefined ? given : { ...given, servername: serverName };
    const { protocol, hostname, port } = target;
    const open = async (): Promise<void> => {
      const proxy = proxyFor(`${protocol}//${bracketed(hostname)}:${port}`, network.proxy);
      if (proxy === undefined) return void direct(target, done);
      if (lookup !== undefined) await checkName(hostname, lookup);
      const to = { hostname: bracketed(hostname), port: portOf(protocol, port) };
      const socket = await openTunnel(proxy, to, timeoutMs);
      if (protocol === "https:") tunnelled({ ...target, httpSocket: socket }, done);
      else done(null, socket);
    };
    open().catch((error: unknown) => done(error as Error, null));
  };
}

/** An agent whose connections are made by `outgoingConnector`. */
export function outgoingAgent(options: ConnectorOptions, limits: Omit<Agent.Options, "connect"> = {}): Agent {
  const { Agent } = undici();
  return new Agent({ ...limits, connect: outgoingConnector(options) });
}

/**
 * An alert of TLS 1.3, such as for a missing client certificate, comes after the handshake. It is the reason why the
 * connection ends; undici would only report that it ended.
 */
function endWithAlert(socket: Socket): void {
  socket.once("error", (error) => void socket.destroy(error));
}

/** TCP keep-alive detects a peer that is gone, on silent streams too; in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

const bracketed = (hostname: string): string =>
  hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;

/** @throws what `lookup` refuses with */
async function checkName(hostname: string, lookup: LookupFunction): Promise<void> {
  const refusal = await withTimeout(
    GUARD_MS,
    new Promise<Error | undefined>((resolve) => {
      lookup(hostname.replace(/^\[|\]$/g, ""), { all: true }, (error) => resolve(error ?? undefined));
    }),
  );
  // A system error has a code: the name is not known here, which only the proxy must know.
  if (refusal !== undefined && !("code" in refusal)) throw refusal;
}
