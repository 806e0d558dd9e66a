/** Where is an HTTP server (URL, pool, path, constant headers), and did it accept a message that needs no response? */
import { GatewayError } from "../../core/errors.js";
import type { Network } from "../../outgoing/network.js";
import type { Headers } from "./channel.js";
import { connectionError, statusError } from "./http-errors.js";
import type { HttpPool } from "./http-pool.js";
import { HttpRequest, type OutgoingRequest } from "./http-request.js";
import { isEventStream, NO_HEADERS } from "./message-bodies.js";
import type { ChannelCredentials } from "./request-authorization.js";
import type { Redact } from "./server-words.js";
import { mayHaveCredentials } from "./unauthorized.js";

/** The HTTP server of a config entry. */
export interface HttpServer {
  /** The server's key in the config, for messages. */
  readonly name: string;
  readonly url: string;
  /** Sent with every request, credentials among them. */
  readonly headers: Headers;
  /** Those of the requests over the channel; never sent to another origin. Default: none but in `headers`. */
  readonly credentials?: ChannelCredentials | undefined;
  /** Removes secrets from what the server says, before it is quoted. Default: unchanged. */
  readonly redact?: Redact | undefined;
  /** For the TCP and the TLS handshake together, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** The proxy and TLS settings, for a pool of its own. */
  readonly network?: Network | undefined;
}

/** A server that requests are sent to. */
export class HttpTarget {
  readonly name: string;
  readonly url: URL;
  readonly pool: HttpPool;
  /** In lower case. */
  readonly headers: Headers;
  readonly credentials: ChannelCredentials | undefined;
  readonly redact: Redact | undefined;
  /** Whether the config may have credentials for the server. */
  readonly hasOwnCredentials: boolean;
  /** The headers of earlier requests with `#lastAuthorization` added, by the headers without: merging costs 2 µs. */
  #authorized = new WeakMap<Headers, Headers>();
  #lastAuthorization: string | undefined;
  /** The path and query of the endpoint; a permanent redirect changes it. */
  path: string;

  /** @throws GatewayError when the URL or a header cannot be used. */
  constructor(server: HttpServer, pool: HttpPool) {
    this.name = server.name;
    this.pool = pool;
    this.credentials = server.credentials;
    this.redact = server.redact;
    this.hasOwnCredentials = mayHaveCredentials(server.url, server.headers);
    this.url = new URL(server.url);
    this.path = this.url.pathname + this.url.search;
    const headers: Record<string, string> = { "user-agent": "cardea", "accept-encoding": "identity" };
    if (this.url.username !== "") headers.authorization = basicCredentials(this.url);
    for (const [name, value] of Object.entries(server.headers)) {
      headers[checkedName(this.name, name)] = checkedValue(this.name, name, value);
    }
    this.headers = headers;
  }

  /** `headers` with that `Authorization`. */
  withAuthorization(headers: Headers, authorization: string): Headers {
    if (authorization !== this.#lastAuthorization) {
      this.#lastAuthorization = authorization;
      this.#authorized = new WeakMap();
    }
    let merged = this.#authorized.get(headers);
    if (merged === undefined) {
      merged = { ...headers, authorization };
      this.#authorized.set(headers, merged);
    }
    return merged;
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

const MAX_BODY_BYTES = 64 * 1024;

/** A message on its way. */
export interface PendingSend {
  /** Resolves when the server has accepted it; rejects with a GatewayError (cause: HttpStatusError) if it has not. */
  readonly accepted: Promise<void>;
  /** Aborts; `accepted` rejects with `reason`. */
  abandon(reason: GatewayError): void;
}

/**
 * Sends a request and reads the status of its response.
 *
 * @param inSession the request belongs to a session; default: it has an `mcp-session-id`
 */
export function send(
  target: HttpTarget,
  outgoing: OutgoingRequest,
  inSession = isInSession(outgoing),
): PendingSend {
  let abandon: (reason: GatewayError) => void = () => {};
  const accepted = new Promise<void>((resolve, reject) => {
    let status = 0;
    let headers = NO_HEADERS;
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (): void => {
      if (status < 300) resolve();
      else reject(statusError(target, { status, headers, body: Buffer.concat(chunks), inSession }));
    };
    const http = new HttpRequest(target, outgoing, {
      head: (code, fields) => {
        status = code;
        headers = fields;
        if (status < 300) resolve();
        // An event stream here carries no message for a receiver.
        if (isEventStream(fields)) stop();
      },
      data: (chunk) => {
        size += chunk.length;
        if (status >= 300 && size <= MAX_BODY_BYTES) chunks.push(chunk);
        else if (size > MAX_BODY_BYTES) stop();
      },
      end: finish,
      fail: (error, sent) => reject(connectionError(target, error, sent)),
    });
    const stop = (): void => {
      http.abort();
      finish();
    };
    abandon = (reason) => {
      http.abort();
      reject(reason);
    };
  });
  return { accepted, abandon: (reason) => abandon(reason) };
}

const isInSession = ({ headers }: OutgoingRequest): boolean => Object.hasOwn(headers, "mcp-session-id");
