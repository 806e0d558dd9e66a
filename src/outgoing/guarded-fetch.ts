/** A `fetch` for URLs that a peer named: public addresses only, https only, limits of time, size and redirects (SSRF). */
import type { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isLoopback } from "../http/loopback.js";
import { isPublicHost, NotPublicError, notPublic, publicLookup } from "../http/public-addresses.js";
import { inflateBody } from "../runtime/decompression.js";
import { undici } from "../runtime/undici.js";
import { outgoingAgent } from "./connector.js";
import { type Network, networkTowards } from "./network.js";
import { ProxyError } from "./proxy.js";

/** What a guarded fetch may reach, and its limits. */
export interface GuardedFetchOptions {
  /** The URL that the config names: its origin may be private; where its host is loopback, all of loopback may be reached. */
  readonly serverUrl: string;
  /** Hosts that may be private too, such as `login.corp.example` or `10.0.0.7:8443`. */
  readonly allowHosts?: readonly string[];
  /** The key of the config that has `allowHosts`, for errors. Default: `auth.allowHosts`, of a server. */
  readonly allowKey?: string;
  /** For the whole exchange with its redirects. Default: 10 s. */
  readonly timeoutMs?: number;
  /** Default: the resolver of the system. */
  readonly resolve?: typeof systemLookup;
  /** The proxy and TLS settings of the server; see `networkTowards` for other origins. */
  readonly network?: Network | undefined;
}

/** The part of `RequestInit` that OAuth needs. */
export interface GuardedRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Fetches `url`, through a proxy where one is configured. A GET follows up to 3 redirects, each checked as the first URL is; other methods follow none.
 *
 * @throws FetchError with a sentence that names the URL, without its query, and the reason
 */
export type GuardedFetch = (url: string, request?: GuardedRequest) => Promise<Response>;

/** No answer came. */
export class FetchError extends Error {
  override readonly name = "FetchError";
  /**
   * @param kind `blocked`: the URL may not be fetched; `unreachable`: there was no connection; `lost`: a connection was
   * open, so the request may have been processed
   */
  constructor(
    sentence: string,
    readonly kind: "blocked" | "unreachable" | "lost",
    options?: ErrorOptions,
  ) {
    super(sentence, options);
  }
}

const allowAdvice = ({ allowKey = "auth.allowHosts" }: GuardedFetchOptions): string =>
  `; where that is intended, add the host to ${allowKey}`;
const TIMEOUT_MS = 10_000;
/** Metadata, registrations and tokens are a few kB. */
const MAX_BYTES = 262_144;
const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Statuses for which the constructor of `Response` takes no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Makes a fetch for everything that concerns one configured server. Each request has a connection of its own. */
export function guardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { timeoutMs = TIMEOUT_MS } = options;
  return async function fetchGuarded(url, request = {}) {
    const signals = [AbortSignal.timeout(timeoutMs), ...(request.signal ? [request.signal] : [])];
    const signal = AbortSignal.any(signals);
    let target = url;
    for (let hop = 0; ; hop += 1) {
      const response = await exchange(target, { ...request, signal }, options);
      const location = response.headers.get("location");
      const isFollowed = (request.method ?? "GET") === "GET" && REDIRECTS.has(response.status);
      if (!isFollowed || location === null) return response;
      if (hop === MAX_REDIRECTS)
        throw new FetchError(`${named(url)}: more than ${MAX_REDIRECTS} redirects`, "blocked");
      if (!URL.canParse(location, target))
        throw new FetchError(`${named(target)}: invalid redirect`, "blocked");
      target = new URL(location, target).href;
    }
  };
}

/** The URL as errors and logs name it: without query, fragment and credentials. */
export function named(url: string): string {
  if (!URL.canParse(url)) return url.replace(/[?#].*$/s, "");
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/**
 * Whether a URL may be fetched at all, before any DNS lookup; the reason where it may not.
 * Rules: 2026-07-28, security best practices, "Server-Side Request Forgery".
 */
export function whyNotFetched(url: string, options: GuardedFetchOptions): string | undefined {
  const { serverUrl, allowHosts = [] } = options;
  if (!URL.canParse(url)) return "is no URL";
  const { protocol, hostname, origin, username } = new URL(url);
  const server = new URL(serverUrl);
  if (username !== "") return "has credentials in it";
  if (origin === server.origin) return undefined;
  const isLocal = isLoopback(hostname) && isLoopback(server.hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal)) return "is not https:";
  if (isLocal || isAllowed(new URL(url), allowHosts) || isPublicHost(hostname)) return undefined;
  return `${notPublic(hostname).message}${allowAdvice(options)}`;
}

function isAllowed({ hostname, host }: URL, allowHosts: readonly string[]): boolean {
  return allowHosts.some((allowed) => {
    const name = allowed.toLowerCase();
    return name === hostname || name === host || `[${name}]` === hostname;
  });
}

/** Whether any address may be connected to. */
function reachesAnywhere(url: string, { serverUrl, allowHosts = [] }: GuardedFetchOptions): boolean {
  const target = new URL(url);
  const server = new URL(serverUrl);
  const isLocal = isLoopback(target.hostname) && isLoopback(server.hostname);
  return target.origin === server.origin || isLocal || isAllowed(target, allowHosts);
}

/** One request and its whole answer. */
async function exchange(
  url: string,
  { method = "GET", headers = {}, body, signal }: GuardedRequest,
  options: GuardedFetchOptions,
): Promise<Response> {
  const refusal = whyNotFetched(url, options);
  if (refusal !== undefined) throw new FetchError(`${named(url)}: ${refusal}`, "blocked");
  const { request } = undici();
  const { timeoutMs = TIMEOUT_MS, resolve, serverUrl } = options;
  const lookup = reachesAnywhere(url, options) ? (resolve as LookupFunction) : publicLookup(resolve);
  const network = networkTowards(url, serverUrl, options.network);
  let isConnected = false;
  const dispatcher = outgoingAgent(
    {
      ...{ network, timeoutMs, lookup },
      onConnect: () => {
        isConnected = true;
      },
    },
    { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, maxResponseSize: MAX_BYTES },
  );
  try {
    const answer = await request(url, {
      dispatcher,
      method: method as "GET",
      headers: { accept: "application/json", "accept-encoding": "identity", ...headers },
      ...(body != null && { body: String(body) }),
      ...(signal !== undefined && { signal }),
    });
    const sent = Buffer.from(await answer.body.arrayBuffer());
    const answered = headersOf(answer.headers);
    const bytes = await inflateBody(sent, answered.get("content-encoding") ?? undefined, MAX_BYTES);
    answered.delete("content-encoding");
    const content = WITHOUT_BODY.has(answer.statusCode) ? null : new Uint8Array(bytes);
    return new Response(content, { status: answer.statusCode, headers: answered });
  } catch (cause) {
    const kind = isConnected ? "lost" : cause instanceof NotPublicError ? "blocked" : "unreachable";
    throw new FetchError(`${named(url)}: ${reasonOf(cause, timeoutMs, options)}`, kind, { cause });
  } finally {
    await dispatcher.destroy();
  }
}

function headersOf(incoming: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return headers;
}

/** Standard terms for the common failures of undici. */
function reasonOf(cause: unknown, timeoutMs: number, options: GuardedFetchOptions): string {
  if (!(cause instanceof Error)) return "the request failed";
  if (cause instanceof NotPublicError) return `${cause.message}${allowAdvice(options)}`;
  if (cause instanceof ProxyError) return cause.message;
  if (cause.name === "TimeoutError" || /Timeout/.test(cause.name)) return `no answer within ${timeoutMs} ms`;
  if (cause.name === "ResponseExceededMaxSizeError") return `the answer is larger than ${MAX_BYTES} bytes`;
  if (cause.name === "AbortError") return "the request was cancelled";
  return cause.message === "" ? String((cause as NodeJS.ErrnoException).code ?? cause.name) : cause.message;
}
