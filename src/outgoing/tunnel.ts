/** How is a connection opened through a proxy? By CONNECT (RFC 9110, 9.3.6), for `http:` servers too: no proxy buffers a tunnel. */
import { type IncomingHttpHeaders, request as overHttp, STATUS_CODES } from "node:http";
import { request as overHttps } from "node:https";
import { isIP, type Socket } from "node:net";
import { explainNetworkError } from "./network-errors.js";
import { type ChosenProxy, ProxyError, portOf } from "./proxy.js";

/** Where a tunnel leads. */
export interface TunnelTarget {
  /** An IPv6 address has brackets. */
  readonly hostname: string;
  readonly port: number;
}

/**
 * Opens a tunnel.
 *
 * @param timeoutMs for the connection to the proxy and its answer
 * @throws ProxyError with a sentence that names the proxy, without its credentials, and what is wrong
 */
export function openTunnel(proxy: ChosenProxy, target: TunnelTarget, timeoutMs: number): Promise<Socket> {
  const { protocol, hostname, port } = proxy.url;
  const host = hostname.replace(/^\[|\]$/g, "");
  const authority = `${target.hostname}:${target.port}`;
  return new Promise((resolve, reject) => {
    const options = {
      ...{ method: "CONNECT", host, port: portOf(protocol, port), path: authority },
      headers: {
        ...{ host: authority, "user-agent": "cardea" },
        ...(proxy.authorization !== undefined && { "proxy-authorization": proxy.authorization }),
      },
      // A connection of its own, and never through another proxy.
      agent: false as const,
    };
    // Node would take the name in the certificate from the Host header.
    const connecting =
      protocol === "https:"
        ? overHttps({ ...options, servername: isIP(host) === 0 ? host : "" })
        : overHttp(options);
    const timer = setTimeout(() => {
      connecting.destroy(Object.assign(new Error("timeout"), { code: "UND_ERR_CONNECT_TIMEOUT" }));
    }, timeoutMs);
    connecting.once("error", (cause) => {
      clearTimeout(timer);
      const why = `the proxy ${proxy.shown} cannot be reached: ${explainNetworkError(cause)}`;
      reject(new ProxyError(why, "unreachable", undefined, { cause }));
    });
    connecting.once("connect", ({ statusCode = 0, headers }, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (statusCode < 200 || statusCode > 299) {
        // Its body may still come.
        socket.on("error", () => {}).destroy();
        reject(new ProxyError(refusal(proxy, authority, statusCode, headers), "refused", statusCode));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(socket);
    });
    connecting.end();
  });
}

/** TCP keep-alive detects a proxy that is gone. */
const KEEP_ALIVE_MS = 15_000;

function refusal(
  { shown, authorization }: ChosenProxy,
  authority: string,
  status: number,
  headers: IncomingHttpHeaders,
): string {
  const phrase = STATUS_CODES[status];
  const answer = `it answered ${status}${phrase === undefined ? "" : ` ${phrase}`}`;
  switch (status) {
    case 407: {
      const what = authorization === undefined ? "wants credentials" : "refused the credentials in its URL";
      return `the proxy ${shown} ${what}: ${answer}${schemesIn(headers["proxy-authenticate"])}`;
    }
    case 401:
    case 403:
      return `the proxy ${shown} does not allow connections to ${authority}: ${answer}`;
    case 400:
    case 404:
    case 405:
    case 501:
      return `the proxy ${shown} opens no tunnel to ${authority}: ${answer}`;
    case 502:
    case 503:
    case 504:
      return `the proxy ${shown} cannot reach ${authority}: ${answer}`;
    default:
      return `the proxy ${shown} refused the connection to ${authority}: ${answer}`;
  }
}

/** The schemes that the proxy takes, where Basic, the only one of the gateway, is none of them. */
function schemesIn(challenge: string | string[] | undefined): string {
  const named = [challenge ?? []].flat().join(", ");
  const schemes = [...named.matchAll(/(?:^|,)\s*([A-Za-z][\w-]{0,30})(?=\s|,|$)/g)].map(
    ([, scheme]) => scheme ?? "",
  );
  if (schemes.length === 0 || schemes.some((scheme) => scheme.toLowerCase() === "basic")) return "";
  return `; it takes ${[...new Set(schemes)].slice(0, 5).join(", ")}, and the gateway has Basic only`;
}
