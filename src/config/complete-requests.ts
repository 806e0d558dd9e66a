/** Completes what is said of the requests to a server over HTTP: its URL, the proxy and TLS, headers of hosts. */
import type { Network } from "../outgoing/network.js";
import { completeNetwork } from "./complete-network.js";
import { completeForwardHeaders, type ForwardedHeader } from "./forward-headers.js";
import { ServerConfigError } from "./server-config-error.js";
import type { ServerShape } from "./server-schema.js";

/** @param url where requests go; undefined if the config does not say it. @throws ServerConfigError */
export function completeRequests(
  shape: ServerShape,
  url: string | undefined,
  hasPrincipals = false,
): { readonly network?: Network; readonly forwardHeaders?: readonly ForwardedHeader[] } {
  const network = completeNetwork(shape);
  const forwardHeaders = completeForwardHeaders(shape, hasPrincipals);
  if (network?.tls !== undefined && url?.startsWith("http:") === true)
    throw new ServerConfigError('has "tls", and a URL that is http:', "tls");
  return {
    ...(network !== undefined && { network }),
    ...(forwardHeaders !== undefined && { forwardHeaders }),
  };
}

/** The URL at `key` of a server. The message does not show it: it may contain a key. @throws ServerConfigError */
export function checkedUrl(text: string, key: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new ServerConfigError(`has a "${key}" that is not an absolute URL`, key);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ServerConfigError(`has a "${key}" that is neither http: nor https:`, key);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ServerConfigError(
      `has a "${key}" with a user name or password in it; send them in an Authorization header`,
      key,
    );
  }
  return url.href;
}
