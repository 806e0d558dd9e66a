/** Through which proxy does a request go: that of its server's config, that of the environment, or none? */
import { isLoopback } from "../http/loopback.js";
import { isExempt } from "./no-proxy.js";

/** A proxy in use. */
export interface ChosenProxy {
  /** Without credentials. */
  readonly url: URL;
  /** The value of `Proxy-Authorization`; absent without credentials. */
  readonly authorization?: string;
  /** The address without credentials, and what names it: `http://proxy.corp:3128 (HTTPS_PROXY)`. */
  readonly shown: string;
}

/** A proxy could not be used, or refused the connection; the server has seen nothing. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** @param kind `invalid`: its address is none; `refused`: it answered with `status` */
  constructor(
    sentence: string,
    readonly kind: "invalid" | "unreachable" | "refused",
    readonly proxyStatus?: number,
    options?: ErrorOptions,
  ) {
    super(sentence, options);
  }
}

/** Of a proxy in the config. */
const IN_CONFIG = "proxy of the config";

/**
 * The proxy for a request to `url`; undefined for a direct connection.
 *
 * @param setting `proxy` of the server: a URL, or `none`. Undefined: the variables of the environment decide, and loopback
 * is always reached directly.
 * @throws ProxyError when the address of the proxy is none
 */
export function proxyFor(
  url: string | URL,
  setting?: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): ChosenProxy | undefined {
  if (setting === "none") return undefined;
  if (setting !== undefined) return readProxy(setting, IN_CONFIG);
  const { protocol, hostname, port } = new URL(url);
  if (isLoopback(hostname) || /(?:^|\.)localhost\.?$/i.test(hostname)) return undefined;
  const found = variable(env, protocol === "https:" ? "https_proxy" : "http_proxy");
  if (found === undefined) return undefined;
  const exempt = variable(env, "no_proxy")?.value ?? "";
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, "");
  return isExempt(host, portOf(protocol, port), exempt) ? undefined : readProxy(found.value, found.name);
}

/** The port of a URL. */
export const portOf = (protocol: string, port: string): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);

/** The lower-case spelling has precedence, as with curl; an empty value is none. */
function variable(env: Readonly<Record<string, string | undefined>>, lower: string) {
  for (const name of [lower, lower.toUpperCase()]) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== "") return { name, value };
  }
  return undefined;
}

/** The addresses of the environment, which may have credentials. */
export const proxiesIn = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  ["http_proxy", "https_proxy"].flatMap((name) => [env[name] ?? [], env[name.toUpperCase()] ?? []]).flat();

/** The URL of a proxy; `proxy.corp:3128` is short for `http://proxy.corp:3128`. Undefined if it is none. */
export function proxyUrl(text: string): URL | undefined {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(whole)) return undefined;
  const url = new URL(whole);
  const isPlain = url.pathname === "/" && url.search === "" && url.hash === "";
  return isPlain && (url.protocol === "http:" || url.protocol === "https:") ? url : undefined;
}

function readProxy(text: string, source: string): ChosenProxy {
  const url = proxyUrl(text);
  // The text is not shown: it may have a password.
  if (url === undefined)
    throw new ProxyError(
      `the ${source === IN_CONFIG ? source : `variable ${source}`} is not the http: or https: URL of a proxy`,
      "invalid",
    );
  const credentials = [url.username, url.password].map(percentDecoded).join(":");
  url.username = "";
  url.password = "";
  return {
    url,
    ...(credentials !== ":" && { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` }),
    shown: `${url.origin} (${source})`,
  };
}

/** The user and password of a proxy, and both as they are sent; for redaction. */
export function proxyCredentials(text: string): readonly string[] {
  const url = proxyUrl(text);
  if (url === undefined || `${url.username}${url.password}` === "") return [];
  const [user = "", password = ""] = [url.username, url.password].map(percentDecoded);
  const sent = Buffer.from(`${user}:${password}`).toString("base64");
  return [password === "" ? user : password, url.password, sent].filter((part) => part !== "");
}

/** An invalid `%` is literal. */
const percentDecoded = (text: string): string =>
  Buffer.from(
    text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16))),
    "latin1",
  ).toString("utf8");
