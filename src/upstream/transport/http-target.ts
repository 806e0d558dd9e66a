/** Where an HTTP server is and how it is reached: its pool of connections, path and constant headers. */
import { type Dispatcher, Pool } from "undici";
import { GatewayError } from "../../core/errors.js";
import type { Headers } from "./channel.js";

export interface HttpServer {
  /** The server's key in the config, for messages. */
  readonly name: string;
  readonly url: string;
  /** Sent with every request, credentials among them. */
  readonly headers: Headers;
  /** For the TCP and the TLS handshake together, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/**
 * Far above what a server should be asked at once; how many that is, is the policy's to say. A call that waits
 * for a person and an event stream hold a connection each, so a low number here would stop everything else.
 */
const MAX_CONNECTIONS = 1024;

/** The connections to one server. Several channels to it may share one; whoever made it destroys it. */
export function createPool(server: Pick<HttpServer, "url" | "connectTimeoutMs">): Dispatcher {
  return new Pool(new URL(server.url).origin, {
    connections: MAX_CONNECTIONS,
    connect: {
      timeout: server.connectTimeoutMs,
      // A peer that vanished without a word is noticed, streams that are silent for long included.
      keepAliveInitialDelay: 15_000,
    },
    // How long an answer may take is decided per call, and event streams may be silent for ever.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

export class HttpTarget {
  readonly name: string;
  readonly url: URL;
  readonly pool: Dispatcher;
  /** In lower case. */
  readonly headers: Headers;
  /** The path and query of the endpoint; a permanent redirect changes it. */
  path: string;

  /** @throws GatewayError when the URL or a header cannot be used. */
  constructor(server: HttpServer, pool: Dispatcher) {
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
  const user = decodeURIComponent(url.username);
  return `Basic ${Buffer.from(`${user}:${decodeURIComponent(url.password)}`).toString("base64")}`;
}

/** Headers that HTTP itself needs to set, or that change how the message is framed. */
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
