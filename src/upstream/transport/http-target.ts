/** Where an HTTP server is: its URL, connection pool, path and constant headers. */
import { GatewayError } from "../../core/errors.js";
import type { Headers } from "./channel.js";
import type { HttpPool } from "./http-pool.js";

/** The HTTP server of a config entry. */
export interface HttpServer {
  /** The server's key in the config, for messages. */
  readonly name: string;
  readonly url: string;
  /** Sent with every request, credentials among them. */
  readonly headers: Headers;
  /** For the TCP and the TLS handshake together, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/** A server that requests are sent to. */
export class HttpTarget {
  readonly name: string;
  readonly url: URL;
  readonly pool: HttpPool;
  /** In lower case. */
  readonly headers: Headers;
  /** The path and query of the endpoint; a permanent redirect changes it. */
  path: string;

  /** @throws GatewayError when the URL or a header cannot be used. */
  constructor(server: HttpServer, pool: HttpPool) {
    this.name = server.name;
    this.pool = pool;
    this.url = new URL(server.url);
    this.path = this.url.pathname + this.url.search;
    const headers: Record<string, string> = { "user-agent": "cardea", "accept-encoding": "identity" };
    if (this.url.username !== "") headers.authorization = basicCredentials(this.url);
    for (const [name, value] of Object.entries(server.headers)) {
      headers[checkedName(this.name, name)] = checkedValue(this.name, name, value);
    }
    this.headers = headers;
  }

  get host(): string {
    return this.url.host;
  }
}

function basicCredentials(url: URL): string {
  const credentials = `${percentDecoded(url.username)}:${percentDecoded(url.password)}`;
  return `Basic ${Buffer.from(credentials, "latin1").toString("base64")}`;
}

/** Percent-decodes to one character per byte; a `%` without two hex digits stays. */
const percentDecoded = (text: string): string =>
  text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));

/** Headers that frame the message or belong to the connection; undici sets them. */
const RESERVED = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function checkedName(server: string, name: string): string {
  const lower = name.toLowerCase();
  if (/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower) && !RESERVED.has(lower)) return lower;
  throw new GatewayError("bad_request", "gateway", `${server}: "${name}" cannot be set as a header`, {
    server,
  });
}

function checkedValue(server: string, name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw new GatewayError(
    "bad_request",
    "gateway",
    `${server}: the header "${name}" has characters that no header may have`,
    {
      server,
    },
  );
}
