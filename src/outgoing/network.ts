/** The network settings of one server, from the config. */
import { isLoopback } from "../http/loopback.js";

/** How requests to a server are sent. */
export interface Network {
  /** The URL of an HTTP proxy, or `none`. Absent: the environment decides, see `proxyFor`. */
  readonly proxy?: string;
  readonly tls?: TlsSettings;
}

/** TLS towards one server. All texts are PEM. */
export interface TlsSettings {
  /** The authorities that may have signed its certificate, instead of those that Node trusts. */
  readonly ca?: string;
  /** The client certificate, with its chain, and its key. */
  readonly cert?: string;
  readonly key?: string;
  /** The name that its certificate must have, sent as SNI. Default: the host of its URL. */
  readonly serverName?: string;
}

/**
 * The settings for a request to `url` that is made on behalf of the server at `serverUrl`, for example to its
 * authorization server. `tls` is for the origin of the server alone. A proxy of the config is used for all of them except
 * other loopback ones; `none` is for the origin alone.
 */
export function networkTowards(url: string, serverUrl: string, network: Network = {}): Network {
  if (new URL(url).origin === new URL(serverUrl).origin) return network;
  const { proxy } = network;
  return proxy === undefined || proxy === "none" || isLoopback(new URL(url).hostname) ? {} : { proxy };
}
